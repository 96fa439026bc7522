from django.db import migrations

from billing.migrations._database import INVOICE_FORGETS, INVOICE_REMEMBERS


class Migration(migrations.Migration):
    dependencies = [("billing", "0030_account_deletions")]

    operations = [migrations.RunSQL(INVOICE_FORGETS, INVOICE_REMEMBERS)]
