"""/account/delete: the account and all data about its owner are deleted; the payments stay in the books."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core import mail
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from accounts import keys, letters, sessions, signin
from accounts.errors import AccountClosed
from accounts.models import Letter, User
from agents import personal as of_agents
from agents import suspension, trials
from agents.backups import expiry
from agents.models import Agent, Repository
from agents.running import lifecycle
from billing import personal as of_billing
from billing.leaving import closing, erasing, exports
from billing.models import AccountDeletion, BillingDetails, DeletionStage, Invoice, Payment
from catalog import authoring
from catalog.models import Persona
from tests.agents.conftest import settle
from tests.billing.conftest import Clock, Pay
from tests.pages.account.visitor import Visitor, shown, text
from tests.pages.page import Page

PATH = "/account/delete"
DAY = timedelta(days=1)
COMPLETE = {
    "name": "Kept",
    "tagline": "Company",
    "for_who": "All",
    "does": ["Helps"],
    "category": "social",
    "tier": "tiny",
    "soul": "You help.",
}


@pytest.fixture
def visitor(clock: Clock, owner: User) -> Visitor:
    return Visitor(owner)


def asked(visitor: Visitor, owner: User) -> Page:
    """Delete the account through the page: with the mailed code and the typed address."""
    page = shown(visitor.send(visitor.open(PATH), f"{PATH}/code"))
    code = page.all("code")[0].text
    return visitor.follow(visitor.send(page, PATH, email=owner.email, code=code))


def worked(clock: Clock, *, rounds: int = 12) -> None:
    """Let the workers run, in steps of six minutes."""
    for _ in range(rounds):
        closing.step_due(now=clock.now)
        letters.send_due(now=clock.now)
        for agent in Agent.objects.all():
            settle(agent)
        expiry.take_out_due(now=clock.now)
        clock.go(timedelta(minutes=6))


def everywhere(words: str) -> list[str]:
    """The tables where any row contains these words."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        found = []
        for table in tables:
            cursor.execute(f'select count(*) from "{table}" as it where it::text ilike %s', [f"%{words}%"])
            if cursor.fetchone()[0]:
                found.append(table)
    return found


@pytest.fixture
def lived_in(owner: User, stranger: User, running: Agent, pay: Pay, settings: Settings, catalog: None) -> User:
    """An account with data of every kind, and with its address in all places where it may be stored."""
    settings.SELLER_NAME = "Pods Ltd"
    now = timezone.now()
    BillingDetails.objects.create(user=owner, name="Ann Example", address="Street 1", country="DE")
    pay(running)
    running.extra_soul = f"Write to {owner.email}"
    running.save()
    keys.create(owner, name=owner.email, now=now)
    signin.request_code(owner.email, household="1.2.3.4", lang="en", now=now)
    authoring.draft(owner.pk, texts={"name": "Mine", "soul": f"by {owner.email}"}, now=now)
    kept = authoring.draft(owner.pk, texts=COMPLETE, now=now)
    authoring.publish(kept, now=now)
    Agent.objects.filter(pk=running.pk).update(was_running=True)
    exports.ask(owner, lang="en", now=now)
    exports.make_due(now=now)
    Repository.objects.create(agent=running, password="x", made_at=now)
    LogEntry.objects.create(
        user_id=stranger.pk,
        content_type=ContentType.objects.get_for_model(User),
        object_id=owner.pk,
        object_repr=owner.email,
        action_flag=CHANGE,
        change_message=f"changed {owner.email}",
    )
    suspension.suspend(owner, reason=f"{owner.email} sent spam", actor="operator:1")
    suspension.restore(owner, actor="operator:1")
    return owner


def test_an_account_goes_with_all_that_is_known_of_its_owner(
    clock: Clock, visitor: Visitor, lived_in: User, make_agent: Any, stranger: User
) -> None:
    owner, paid = lived_in, Payment.objects.get()
    used = make_agent(stranger, persona_id=Persona.objects.get(name="Kept").pk)
    page = visitor.open(PATH)
    assert "The agent “Study Buddy” with its data" in text(page)
    assert "it is not paid back" in text(page)
    assert "Keep my account" in text(asked(visitor, owner))
    assert "Your account is deleted on Nov. 28, 2026" in text(visitor.open("/account"))
    worked(clock, rounds=2)
    assert {agent.status for agent in Agent.objects.filter(user=owner)} == {"stopped"}
    before = {"accounts_user", "accounts_householdcode", "accounts_letter", "accounts_apikey", "accounts_suspension"}
    before |= {"agents_agent", "billing_invoice", "catalog_persona", "django_admin_log"}
    assert before <= set(everywhere("owner@example.com"))
    clock.go(closing.GRACE)
    worked(clock)
    deletion = AccountDeletion.objects.get()
    assert (deletion.stage, deletion.waits_for) == (DeletionStage.DONE, "")
    assert mail.outbox[-1].subject == "Your account is deleted"
    assert everywhere("owner@example.com") == []
    assert everywhere("Ann Example") == ["billing_invoice"]
    assert visitor.client.get("/account").status_code == 303
    assert [(row.pk, row.price_usd) for row in Payment.objects.all()] == [(paid.pk, Decimal("5.00"))]
    assert Invoice.objects.get().buyer["email"] == ""
    assert not Repository.objects.exists()
    left = Persona.objects.get(name="Kept")
    assert (left.status, left.author) == ("draft", f"Author {owner.pk[-6:]}")
    assert not Persona.objects.filter(name="Mine").exists()
    assert Agent.objects.get(pk=used.pk).desired == "running"
    with pytest.raises(AccountClosed):
        suspension.restore(User.objects.get(pk=owner.pk), actor="operator:1")


def test_whoever_comes_back_is_new_and_has_no_new_trials(clock: Clock, owner: User, running: Agent) -> None:
    closing.ask(owner, lang="en", now=clock.now)
    clock.go(closing.GRACE)
    worked(clock)
    again = User.objects.create_user("owner@example.com")
    had = trials.values(again, now=running.created_at)
    assert trials.counted(**had).count() == 1
    of_agents.forget_mailboxes(now=clock.go(31 * DAY))
    assert trials.counted(**had).count() == 0
    assert everywhere("digest:") == []


def test_a_worker_that_is_killed_at_any_step_leaves_it_due(
    clock: Clock, lived_in: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step fails once before its work, and once after it."""
    dead: set[str] = set()

    def dies(where: Any, name: str) -> None:
        work: Callable[..., Any] = getattr(where, name)

        def once(*args: Any, **kwargs: Any) -> Any:
            if f"before {name}" not in dead:
                dead.add(f"before {name}")
                raise SystemError(name)
            done = work(*args, **kwargs)
            if f"after {name}" not in dead:
                dead.add(f"after {name}")
                raise SystemError(name)
            return done

        monkeypatch.setattr(where, name, once)

    steps = [
        *((closing, name) for name in ("_wind_down", "_close", "_finish", "_end", "_cancel_renewal")),
        *((erasing, name) for name in ("away", "here")),
        *((where, "erase") for where in (of_billing,)),
        *((lifecycle, name) for name in ("pause", "delete")),
    ]
    for where, name in steps:
        dies(where, name)
    closing.ask(lived_in, lang="en", now=clock.now)
    worked(clock, rounds=8)
    clock.go(closing.GRACE)
    worked(clock, rounds=20)
    assert AccountDeletion.objects.get().stage == DeletionStage.DONE
    assert len(dead) == 2 * len(steps)
    assert everywhere("owner@example.com") == []


def test_its_owner_may_think_better_of_it(clock: Clock, visitor: Visitor, owner: User, running: Agent) -> None:
    page = asked(visitor, owner)
    worked(clock, rounds=2)
    after = visitor.follow(visitor.send(page, f"{PATH}/keep"))
    assert "Your account is deleted" not in text(after)
    clock.go(closing.GRACE)
    worked(clock, rounds=2)
    assert User.objects.get(pk=owner.pk).is_active
    assert Agent.objects.get(pk=running.pk).status == "stopped"
    assert visitor.send(page, f"{PATH}/keep").status_code == 409
    assert Letter.objects.filter(subject="Your account stays").exists()


@pytest.mark.parametrize(
    ("email", "code", "said"),
    [
        ("other@example.com", None, "not the address of this account"),
        ("owner@example.com", "000000", "not the digits"),
        ("owner@example.com", "12", "six digits"),
    ],
)
def test_without_the_address_and_a_fresh_code_nothing_is_deleted(
    visitor: Visitor, email: str, code: str | None, said: str
) -> None:
    page = shown(visitor.send(visitor.open(PATH), f"{PATH}/code"))
    sent = visitor.send(page, PATH, email=email, code=code or page.all("code")[0].text)
    assert said in text(shown(sent, status=sent.status_code))
    assert sent.status_code in {400, 401}
    assert not AccountDeletion.objects.exists()


def test_who_may_open_the_console_stays_and_is_offered_no_button(visitor: Visitor, owner: User) -> None:
    page = visitor.open(PATH)
    User.objects.filter(pk=owner.pk).update(is_staff=True)
    assert "Ask an operator to remove that right" in text(visitor.open(PATH))
    assert not visitor.open(PATH).all("form", action=f"{PATH}/code")
    sent = shown(visitor.send(page, f"{PATH}/code"))
    code = sent.all("code")[0].text
    assert visitor.send(sent, PATH, email=owner.email, code=code).status_code == 403


def test_an_account_that_is_suspended_waits(clock: Clock, owner: User, running: Agent) -> None:
    closing.ask(owner, lang="en", now=clock.now)
    suspension.suspend(owner, reason="spam", actor="operator:1")
    clock.go(closing.GRACE)
    worked(clock, rounds=2)
    assert AccountDeletion.objects.get().waits_for == "a suspension"
    suspension.restore(owner, actor="operator:1")
    clock.go(DAY)
    worked(clock)
    assert AccountDeletion.objects.get().stage == DeletionStage.DONE
    assert sessions.of(owner, most=9, now=clock.now) == []
