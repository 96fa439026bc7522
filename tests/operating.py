"""An operator in the admin, for tests: chooses an action on a list, reads the page that asks, and submits it."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from accounts.models import User
from config.audit.models import AuditEntry
from config.operator_settings import choosing
from config.operator_settings.values import values

WHY = "a test of ours"


def staff(*permissions: str) -> Client:
    """A client of a staff member with only these permissions."""
    user = User.objects.create_user(f"staff{User.objects.count()}@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def choose(console: Client, place: str, action: str, *rows: Model, **more: Any) -> Any:
    """Choose the action on a list, and return the page that it leads to."""
    body = {"action": action, "_selected_action": [row.pk for row in rows], **more}
    return console.post(place, body, follow=True)


def send(console: Client, asking: Any, *, reason: str = WHY, follow: bool = True, **typed: Any) -> Any:
    """Submit the form of a step's page, with its hidden field."""
    name, value = asking.context["seen"]
    address = f"{asking.request['PATH_INFO']}?{asking.request['QUERY_STRING']}"
    known = AuditEntry.objects.order_by("pk").values_list("pk", flat=True).last() or 0
    answer = console.post(address, {name: value, "reason": reason, "confirm": "1", **typed}, follow=follow)
    step = asking.context["step"]
    messages = (answer.context or {}).get("messages", ())
    if follow and any(str(told).startswith(f"{step.done}: ") for told in messages):
        assert AuditEntry.objects.filter(pk__gt=known, verb=step.title).exists(), "nothing is done without a row"
    return answer


def act(console: Client, place: str, action: str, *rows: Model, reason: str = WHY, **typed: Any) -> str:
    """Choose the action and submit its page, if it has one. Returns the page after that."""
    asking = choose(console, place, action, *rows)
    if "step" in asking.context:
        asking = send(console, asking, reason=reason, **typed)
    assert asking.status_code == 200
    return str(asking.content.decode())


def typed_in(client: Client, page: str, without: str = "") -> dict[str, str]:
    """The fields that a browser would send from this page."""
    html = client.get(page).content.decode()
    fields = {}
    for tag in re.findall(r"<input[^>]+>", html):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        name = attributes.get("name")
        if name and (attributes.get("type") != "checkbox" or "checked" in tag):
            fields[name] = attributes.get("value", "on")
    return {name: value for name, value in fields.items() if name not in {without, "_addanother", "_continue"}}


def choose_setting(name: str, text: str | None) -> None:
    """Choose the value of a setting; None resets it. It holds at once, even inside of a test's transaction."""
    if text is None:
        choosing.reset(name, actor="operator:test", now=timezone.now())
    else:
        choosing.choose(name, text, actor="operator:test", now=timezone.now())
    values.look()
