"""The events of an agent in plain words."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents.models import Status
from billing.providers import registry
from billing.vocabulary import FOREVER
from pages.account import words
from webhooks.event_types import EventType, LoggedType
from webhooks.models import Event

TYPES: dict[str, Promise] = {
    EventType.AGENT_RUNNING: _("The agent runs"),
    EventType.AGENT_STOPPED: _("The agent stopped"),
    EventType.AGENT_FAILED: _("The agent failed"),
    EventType.AGENT_DELETED: _("The agent was deleted"),
    EventType.PAYMENT_CONFIRMED: _("A payment came in"),
    EventType.DELETION_WARNING: _("The agent will be stopped and deleted unless it is paid for"),
    EventType.TEST: _("A test"),
}
# Events that are only in the log, in English: they have no translation yet.
LOGGED: dict[str, str] = {
    LoggedType.LIMIT_NEAR: "The agent has nearly reached its limit: {usd} of {limitUsd} USD for a {period}.",
    LoggedType.LIMIT_REACHED: "Its model calls are refused: it has taken {usd} of {limitUsd} USD for a {period}.",
    LoggedType.REPLAY_SWITCHED: "{who} switched the recording of the replay {switched}.",
    LoggedType.REPLAY_DELETED: "{who} deleted the replay{part}.",
}
LOGGED_OF_KEY: dict[str, str] = {
    LoggedType.LIMIT_NEAR: "The key {keyName} has nearly reached its limit: {usd} of {limitUsd} USD for a {period}.",
    LoggedType.LIMIT_REACHED: (
        "Turns of the key {keyName} are refused: they have taken {usd} of {limitUsd} USD for a {period}."
    ),
}

# By the state before.
CAME_UP: dict[str, Promise] = {
    Status.PROVISIONING: _("The agent started for the first time."),
    Status.RUNNING: _("The agent was rebuilt and is running."),
    Status.STOPPED: _("The agent was started again."),
    Status.FAILED: _("The agent runs again after a failure."),
}


def sentence(event: Event) -> str:
    """What happened, and the reason if it is known."""
    data: dict[str, Any] = json.loads(event.body)["data"]
    logged = (LOGGED_OF_KEY if data.get("of") == "key" else LOGGED).get(event.type)
    return logged.format_map(_named(data)) if logged else _sent(event, data)


def _named(data: dict[str, Any]) -> dict[str, Any]:
    """The data, with words for what is no word."""
    kind, _separator, named = str(data.get("by", "")).partition(":")
    return {
        "who": f"The API key {named}" if kind == "key" else "You",
        "switched": "on" if data.get("recording") else "off",
        "part": " of a conversation" if data.get("session") else "",
        **data,
    }


def _sent(event: Event, data: dict[str, Any]) -> str:
    match event.type:
        case EventType.AGENT_RUNNING if data.get("reason") == "domain-lost":
            text = gettext("Another account proved that the domain %(domain)s is theirs and has it now.")
            return text % {"domain": data.get("domain", "")}
        case EventType.AGENT_RUNNING:
            return str(CAME_UP.get(data.get("from", ""), TYPES[event.type]))
        case EventType.AGENT_STOPPED:
            stopped, why = gettext("The agent stopped."), words.CAUSES.get(str(data.get("reason", "")).upper(), "")
            return f"{stopped} {why}".strip()
        case EventType.PAYMENT_CONFIRMED:
            return _paid(data)
        case EventType.DELETION_WARNING:
            return _warned(data)
        case EventType.TEST:
            return gettext("A test was sent to the webhook.")
        case EventType.AGENT_FAILED:
            return gettext("The agent could not be started.")
    return str(TYPES[event.type])


def _paid(data: dict[str, Any]) -> str:
    """A payment. If we granted it ourselves, without a provider and an end."""
    provider, till = registry.name_of(data["provider"]), datetime.fromisoformat(data["paidTill"])
    named = {"provider": provider, "day": words.day(till)}
    if not provider:
        return gettext("The agent was paid for by us.")
    if till >= FOREVER:
        return gettext("A payment came in with %(provider)s.") % named
    return gettext("A payment came in with %(provider)s: paid until %(day)s.") % named


def _warned(data: dict[str, Any]) -> str:
    left, kept = data.get("daysLeft"), data.get("keptDays") or 0
    if left is None:
        text = ngettext(
            "It was not paid for and has stopped. Its data is kept for %(count)d day.",
            "It was not paid for and has stopped. Its data is kept for %(count)d days.",
            kept,
        )
        return text % {"count": kept}
    text = ngettext(
        "It stops in %(count)d day unless it is paid for.",
        "It stops in %(count)d days unless it is paid for.",
        left,
    )
    return text % {"count": left}
