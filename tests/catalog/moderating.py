"""A moderator in the console, for tests."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from catalog.models import Persona

QUEUE = "/admin/catalog/review/"
PERSONAS = "/admin/catalog/persona/"
AUTHORS = "/admin/catalog/author/"
ARTICLES = "/admin/catalog/article/"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def staff(*permissions: str) -> Client:
    """A client of a staff member with only these permissions."""
    user = User.objects.create_user(f"staff{User.objects.count()}@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def review(persona: Persona) -> str:
    return f"{QUEUE}{persona.pk}/change/"


def seen(page: str) -> dict[str, str]:
    """The hidden fields with the state of the personas that the page shows."""
    return dict(re.findall(r'name="(seen [^"]+)" value="([^"]+)"', page))


def act(console: Client, address: str, action: str, *chosen: Any, **more: str) -> Any:
    """Choose an action on a list as a browser does, and return the page after it."""
    page = console.get(address).content.decode()
    return console.post(
        address, {"action": action, "_selected_action": [one.pk for one in chosen], **seen(page), **more}, follow=True
    )


def confirm(console: Client, address: str, **typed: str) -> Any:
    """Open the page of a step, and submit it with its hidden field and these typed values."""
    asking = console.get(address)
    kept = [asking.context["seen"]] if asking.context and "seen" in asking.context else []
    return console.post(address, {**dict(kept), "confirm": "1", **typed}, follow=True)


def history() -> list[tuple[str, str]]:
    rows = LogEntry.objects.order_by("id").select_related("content_type")
    return [(row.content_type.model if row.content_type else "", row.change_message) for row in rows]


def status(persona: Persona) -> str:
    return str(Persona.objects.values_list("status", flat=True).get(pk=persona.pk))
