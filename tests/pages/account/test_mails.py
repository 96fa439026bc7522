"""/account/mails: which mails a person gets, and in which language."""

from __future__ import annotations

import re

from django.conf import settings
from django.utils import timezone

from accounts import signin
from accounts.models import Letter, User
from agents.models import Agent
from agents.running import lifecycle
from billing import agent_terms, corrections, mails
from tests.agents.conftest import settle
from tests.billing.conftest import Clock, Pay
from tests.pages.account.visitor import Visitor, text

PATH = "/account/mails"


def test_reminders_are_muted_and_money_is_told_all_the_same(
    clock: Clock, owner: User, running: Agent, pay: Pay
) -> None:
    visitor = Visitor(owner)
    page = visitor.open(PATH)
    assert "Sign-in codes" in text(page)
    csrf = page.one("input", name="csrfmiddlewaretoken").attributes["value"]
    saved = visitor.follow(visitor.post(PATH, csrfmiddlewaretoken=csrf, lang="es", mail="channel_silent"))
    assert "Guardado." in text(saved)
    checked = {one.attributes["value"]: "checked" in one.attributes for one in saved.all("input", name="mail")}
    assert checked == {"pod_stops": False, "announcement": False, "channel_silent": True}
    running = Agent.objects.get()
    term = agent_terms.term(running, now=timezone.now())
    mails.remind(running, term, day=3)
    assert not Letter.objects.exists()
    mails.remind(running, term, day=0)
    pay(running)
    assert set(Letter.objects.values_list("lang", flat=True)) == {"es"}
    assert Letter.objects.count() == 2


def test_the_mails_about_money_lead_to_pages_also_of_a_deleted_agent(
    clock: Clock, owner: User, running: Agent, pay: Pay
) -> None:
    visitor = Visitor(owner)
    row = pay(running)
    mails.paid_time_ends(running, at=clock.now)
    for letter in Letter.objects.all():
        visitor.open(letters_link(letter))
    settle(lifecycle.delete(Agent.objects.get(pk=running.pk), actor="user:x"))
    corrections.refund_payment(row, reason="asked for", actor="operator:x", now=clock.now)
    told = [letters_link(letter) for letter in Letter.objects.exclude(text__contains="/renew/")]
    assert len(set(told)) == 2
    assert all(running.name in text(visitor.open(place)) for place in told)


def letters_link(letter: Letter) -> str:
    """The path to which the mail's button leads."""
    (place,) = re.findall(r'class="button"\s+href="([^"]+)"', str(letter.html))
    return str(place).removeprefix(str(settings.BASE_URL))


def test_the_language_that_was_chosen_outlives_the_next_sign_in(db: None, owner: User) -> None:
    visitor = Visitor(owner)
    answer = visitor.send(visitor.open(PATH), PATH, lang="ru")
    assert visitor.follow(answer).lang == "ru"
    now = timezone.now()
    code = signin.request_code(owner.email, household="1.2.3.4", lang="en", now=now) or ""
    signin.verify_code(owner.email, code=code, household="1.2.3.4", attribution=None, now=now)
    assert User.objects.get(pk=owner.pk).lang == "ru"


def test_a_language_that_is_none_is_refused(owner: User) -> None:
    visitor = Visitor(owner)
    assert visitor.send(visitor.open(PATH), PATH, lang="xx").status_code == 400
    assert not User.objects.get(pk=owner.pk).lang_chosen
