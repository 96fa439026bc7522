from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.db import migrations
from django.db.models import Q
from django.utils import timezone

LICENSED = ("gumroad", "lemonsqueezy")
BEFORE = timedelta(days=7)
AT_ONCE = 500


def look_again(apps: Any, schema_editor: object) -> None:
    """Who had paid before there were reminders was looked at again when all was over: now seven days before it."""
    Agent = apps.get_model("agents", "Agent")
    Subscription = apps.get_model("billing", "Subscription")
    now = timezone.now()
    paid = Subscription.objects.filter(status__in=("active", "canceled"), parked_at=None, current_period_end__gt=now)
    renews = Q(provider__isnull=False, provider__in=LICENSED, status="active", cancels_there=False)
    own = paid.filter(Q(provider=None) | ~Q(provider="internal")).exclude(renews)
    ends = own.values_list("agent_id", "current_period_end")
    for agent_id, end in ends.iterator(chunk_size=AT_ONCE):
        at = max(now, end - BEFORE)
        Agent.objects.filter(Q(term_due_at=None) | Q(term_due_at__gt=at), pk=agent_id).update(term_due_at=at)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agents", "0022_bridge_bytes"), ("billing", "0018_coupons_index")]

    operations: ClassVar = [migrations.RunPython(look_again, migrations.RunPython.noop, elidable=True)]
