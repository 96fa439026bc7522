"""*Find* leads from an id or an address to its page, within what the person may see."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from agents.models import Agent
from tests import operating
from tests.agents.conftest import MakeAgent

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def find(console: Client, asked: str) -> Any:
    return console.get("/admin/find/", {"q": asked})


def test_an_id_a_slug_a_hostname_and_an_address_lead_to_their_page(console: Client, make_agent: MakeAgent) -> None:
    agent = make_agent()
    Agent.objects.filter(pk=agent.pk).update(domain="bot.example.com")
    for asked in (agent.pk, f"  {agent.pk} ", agent.slug, "bot.example.com"):
        assert find(console, asked).url == f"/admin/agents/agent/{quote(agent.pk)}/change/"
    person = agent.user
    for asked in (person.pk, person.email, person.email.upper()):
        assert find(console, asked).url == f"/admin/accounts/user/{quote(person.pk)}/change/"


def test_what_is_not_there_and_what_is_no_word_is_said(console: Client) -> None:
    for asked in ("agt_000000000000000000000000", "nobody@example.com", "%", "\u202e", "x" * 5000, "agt_\n"):
        answer = find(console, asked)
        assert (answer.status_code, b"Nothing that you may see" in answer.content) == (200, True)
    assert console.get("/admin/find/").status_code == 200
    assert console.get("/admin/find/", {"q": "\0"}).status_code in {200, 400}


def test_nobody_finds_what_they_may_not_see(make_agent: MakeAgent) -> None:
    agent = make_agent()
    reader = operating.staff("view_agent")
    assert find(reader, agent.pk).status_code == 302
    for asked in (agent.user.pk, agent.user.email):
        assert b"Nothing that you may see" in find(reader, asked).content
    assert find(Client(), agent.pk).url.startswith("/admin/login/")


def test_it_asks_the_database_a_few_times_at_most(
    console: Client, make_agent: MakeAgent, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    agent = make_agent()
    for asked in (agent.pk, agent.user.email, "nothing"):
        with django_assert_max_num_queries(11):  # three of them for the session and the person
            find(console, asked)
