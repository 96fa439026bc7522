"""Suspending and restoring accounts in the operators' console."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys, letters, sessions
from accounts.models import Session, Suspension, User
from agents import suspension
from agents.models import Agent, Status
from tests import operating
from tests.agents.conftest import settle

USERS = "/admin/accounts/user/"

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> User:
    return User.objects.create_superuser("operator@example.com")


@pytest.fixture
def console(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def act(console: Client, action: str, *users: User, reason: str = "") -> str:
    return operating.act(console, USERS, action, *users, reason=reason)


def test_an_operator_suspends_with_a_reason_and_restores(
    console: Client, operator: User, owner: User, client: APIClient, running: Agent
) -> None:
    assert "Suspended: owner@example.com" in act(console, "suspend_accounts", owner, reason="mines coins")
    assert client.get("/me").status_code == 401
    suspension.enforce()
    assert settle(running).status == Status.STOPPED
    row = Suspension.objects.get()
    assert (row.user, row.reason, row.suspended_by) == (owner, "mines coins", f"operator:{operator.pk}")
    page = console.get(f"{USERS}{quote(owner.pk)}/change/").content.decode()
    assert "mines coins" in page
    assert 'name="is_active"' not in page
    assert "Restored: owner@example.com" in act(console, "restore_accounts", owner, reason="a mistake")
    assert client.get("/me").status_code == 200
    row.refresh_from_db()
    assert row.restored_by == f"operator:{operator.pk}"
    log = LogEntry.objects.filter(object_id=owner.pk, user=operator).order_by("action_time")
    assert [entry.get_change_message() for entry in log] == ["Suspended: mines coins", "Restored: a mistake"]


@pytest.mark.parametrize("wrong", [timedelta(minutes=30), -timedelta(minutes=2)], ids=["ahead", "behind"])
def test_a_console_whose_clock_is_wrong_moves_no_paid_time(console: Client, owner: User, wrong: timedelta) -> None:
    with time_machine.travel(datetime.now(UTC) + wrong):
        assert "clock is wrong, so nothing was done" in act(console, "suspend_accounts", owner, reason="mines coins")
    assert not Suspension.objects.exists()
    act(console, "suspend_accounts", owner, reason="mines coins")
    with time_machine.travel(datetime.now(UTC) + wrong):
        assert "clock is wrong, so nothing was done" in act(console, "restore_accounts", owner, reason="a mistake")
    owner.refresh_from_db()
    assert (owner.is_active, Suspension.objects.get().restored_at) == (False, None)


def test_nobody_is_suspended_without_a_reason(console: Client, owner: User) -> None:
    assert "This field is required" in act(console, "suspend_accounts", owner, reason="  ")
    owner.refresh_from_db()
    assert owner.is_active


def test_operators_do_not_suspend_themselves_or_who_stands_above_them(operator: User, owner: User) -> None:
    staff = User.objects.create_user("staff@example.com", "x", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user"]))
    client = Client()
    client.force_login(staff)
    page = act(client, "suspend_accounts", staff, operator, owner, reason="test")
    assert "you cannot suspend your own account" in page
    assert "only superusers can suspend a superuser" in page
    assert set(User.objects.filter(is_active=False)) == {owner}


def test_who_may_only_look_does_not_suspend(owner: User) -> None:
    staff = User.objects.create_user("staff@example.com", "x", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename="view_user"))
    client = Client()
    client.force_login(staff)
    act(client, "suspend_accounts", owner, reason="test")
    owner.refresh_from_db()
    assert owner.is_active


def test_a_persons_page_has_what_is_about_them_and_costs_the_same_for_any_number(
    console: Client, owner: User, running: Agent
) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert console.get(f"{USERS}{quote(owner.pk)}/change/").status_code == 200
        return len([one for one in asked if "catalog_" not in one["sql"]])

    key = keys.create(owner, name="<b>laptop</b>", now=timezone.now())[0]
    session = sessions.start(owner, attribution=None, client="Firefox", now=timezone.now())[0]
    few = cost()
    values = {field.attname: getattr(running, field.attname) for field in Agent._meta.concrete_fields}
    unique = [{"id": f"agt_{n:024}", "slug": f"s{n}", "suffix": f"x{n}"} for n in range(300)]
    Agent.objects.bulk_create(Agent(**{**values, **own}) for own in unique)
    for number in range(30):
        sessions.start(owner, attribution=None, client="Firefox", now=session.created_at - timedelta(minutes=number))
        letters.write(owner, subject=f"News <i>{number}</i>", text="news", lang="en")
    assert cost() <= few
    page = console.get(f"{USERS}{quote(owner.pk)}/change/").content.decode()
    assert page.count("/admin/agents/agent/agt_") == 10
    assert page.count("/admin/accounts/letter/ltr_") == 10
    assert "&lt;b&gt;laptop&lt;/b&gt;" in page
    for markup in ("<b>laptop", "<i>29"):
        assert markup not in page
    for step, row, done in (("session/end-sessions", session, "Ended"), ("apikey/revoke", key, "Revoked")):
        (link,) = re.findall(rf'href="([^"]*/{step}/\?id={row.pk}&[^"]*)"', page)
        answer = operating.send(console, console.get(html.unescape(link)))
        assert answer.redirect_chain[-1][0] == f"{USERS}{quote(owner.pk)}/change/"
        assert f"{done}: " in answer.content.decode()
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert not Session.objects.filter(pk=session.pk).exists()
