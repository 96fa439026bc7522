"""API keys and groups: an action that cannot be undone first shows its effect and asks for a reason."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from accounts import keys
from accounts.models import ApiKey, User
from tests.operating import act, choose, send, staff

pytestmark = pytest.mark.django_db

KEYS, GROUPS = "/admin/accounts/apikey/", "/admin/auth/group/"


@pytest.fixture
def console() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def key_of(email: str) -> ApiKey:
    user, _ = User.objects.get_or_create(email=email)
    return keys.create(user, name="laptop", now=timezone.now())[0]


def test_many_keys_are_revoked_by_their_number_and_those_that_are_revoked_are_left_out(console: Client) -> None:
    mine, hers, gone = key_of("a@example.com"), key_of("b@example.com"), key_of("c@example.com")
    keys.revoke(gone.user, gone.pk, now=timezone.now())
    asking = choose(console, KEYS, "revoke", mine, hers, gone)
    page = asking.content.decode()
    assert [key.pk in page for key in (mine, hers, gone)] == [True, True, False]
    assert send(console, asking).context["form"].errors["count"]
    send(console, asking, count=2, reason="leaked")
    assert not ApiKey.objects.filter(revoked_at=None).exists()
    messages = LogEntry.objects.values_list("object_id", "change_message")
    assert set(messages) == {(mine.pk, "Revoked: leaked"), (hers.pk, "Revoked: leaked")}


def test_a_group_is_deleted_by_superusers_with_a_reason_that_outlives_it(console: Client) -> None:
    group = Group.objects.create(name="Support")
    assert "delete_selected" not in console.get(GROUPS).content.decode()
    console.post(GROUPS, {"action": "delete_selected", "_selected_action": [group.pk], "post": "yes"})
    console.post(f"{GROUPS}{group.pk}/delete/", {"post": "yes"})
    assert Group.objects.contains(group)
    clerk = staff("view_group", "delete_group")
    assert clerk.get(f"{GROUPS}delete-rows/", {"id": group.pk}).status_code == 403
    assert "Deleted: Support" in act(console, GROUPS, "delete_rows", group, reason="nobody is in it")
    assert not Group.objects.filter(name="Support").exists()
    entry = LogEntry.objects.get(object_id=str(group.pk))
    assert (entry.action_flag, entry.change_message) == (DELETION, "Deleted: nobody is in it")
