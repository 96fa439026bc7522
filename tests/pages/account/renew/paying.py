"""A person who pays on /renew/{id} with a browser without scripts: the page's own forms, and real CSRF tokens."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from accounts import sessions
from accounts.models import User
from agents.models import Agent
from tests.billing.conftest import Clock
from tests.pages.page import Element, Page


class Person:
    def __init__(self, user: User, *, lang: str = "en") -> None:
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        self.client.cookies[settings.LANG_COOKIE_NAME] = lang
        self.user = user
        self.sign_in()

    def sign_in(self) -> None:
        _, token = sessions.start(self.user, attribution=None, now=timezone.now())
        self.client.cookies[settings.ACCOUNT_COOKIE_NAME] = token

    def get(self, place: str) -> Any:
        return self.client.get(place)

    def open(self, place: str, *, status: int = 200) -> Page:
        answer = self.get(place)
        assert answer.status_code == status, (place, answer.status_code, answer.content[:300])
        return Page(answer.content.decode())

    def choose(self, agent: Agent, *, tier: str = "tiny", period: str = "monthly", provider: str) -> Page:
        """Send the first form, and return the page with the total."""
        return self.open(f"/renew/{agent.pk}?tier={tier}&period={period}&provider={provider}")

    def send(self, page: Page, **typed: str) -> Any:
        """Send the page's payment form, with its hidden fields."""
        (form,) = [one for one in page.all("form") if one.attributes.get("method") == "post" and is_of_renew(one)]
        fields = {
            one.attributes["name"]: one.attributes.get("value", "")
            for one in page.elements
            if one.tag == "input" and any(parent is form for parent in one.within)
        }
        return self.client.post(form.attributes["action"].partition("#")[0], {**fields, **typed})

    def order(self, agent: Agent, **wanted: str) -> Page:
        """Choose and order; returns the page after the redirect."""
        answer = self.send(self.choose(agent, **wanted))
        return self.open(led_to(answer, f"/renew/{agent.pk}"))


@pytest.fixture
def person(owner: User, catalog: None, clock: Clock) -> Person:
    return Person(owner)


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


def is_of_renew(form: Element) -> bool:
    return form.attributes["action"].startswith("/renew/")


def led_to(answer: HttpResponse, place: str) -> str:
    """The address of a redirect with 303: reloading the page then sends nothing again."""
    assert (answer.status_code, answer.headers.get("Location")) == (303, place), answer.content[:3000]
    return place


def now(page: Page) -> str:
    """The words of the page's section about the payment."""
    return words(page.one("section", id="now"))


def words(element: Element) -> str:
    return " ".join(element.text.split())


def problem(page: Page, field: str) -> str:
    return words(page.one("p", id=f"problem-{field}"))
