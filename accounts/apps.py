"""The app's configuration, and Django's admin with our own admin site."""

from __future__ import annotations

from django.apps import AppConfig, apps
from django.contrib.admin import apps as admin_apps
from django.db.models.signals import post_migrate

from config import outgoing_mail


class AccountsConfig(AppConfig):
    name = "accounts"
    default = True

    def ready(self) -> None:
        from accounts import checks, console_logins, letters, roles  # noqa: F401, PLC0415 # needs the models
        from accounts.oauth import models  # noqa: F401, PLC0415 # tables of a room of its own

        console_logins.listen()
        # Each app makes its permissions when its own signal comes; sessions is the last app with tables.
        post_migrate.connect(roles.bring_up_to_date, sender=apps.get_app_config("sessions"), dispatch_uid="roles")
        outgoing_mail.carried_by(letters.carry)


class ConsoleConfig(admin_apps.AdminConfig):
    """Replaces `django.contrib.admin` in INSTALLED_APPS."""

    default = False
    default_site = "accounts.console.Console"
