"""Events of an agent in a person's words."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from webhooks.models import EventType

TYPES: dict[str, Promise] = {
    EventType.AGENT_RUNNING: _("The agent runs"),
    EventType.AGENT_STOPPED: _("The agent stopped"),
    EventType.AGENT_FAILED: _("The agent failed"),
    EventType.AGENT_DELETED: _("The agent was deleted"),
    EventType.PAYMENT_CONFIRMED: _("A payment came in"),
    EventType.DELETION_WARNING: _("It will be stopped and deleted unless it is paid for"),
    EventType.TEST: _("A test"),
}
