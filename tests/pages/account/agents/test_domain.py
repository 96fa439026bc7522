"""An agent's own domain on its page: set, check, take over, remove."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from agents.domains import claims
from agents.models import Agent, DomainClaim
from tests.agents.conftest import MakeAgent, settle
from tests.doubles.name_server import NameServer, TxtRecord
from tests.fixtures import OUR_ADDRESS
from tests.pages.account.visitor import Visitor, text
from tests.pages.page import Page

NAME, PROOF = "bot.example.org", "_agentpods.bot.example.org"


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def place(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}/domain"


def set_to(visitor: Visitor, agent: Agent, domain: str) -> Any:
    return visitor.send(visitor.open(place(agent)), place(agent), domain=domain)


def table(page: Page) -> list[str]:
    [body] = page.all("tbody")
    rows = [one for one in page.all("tr") if any(parent is body for parent in one.within)]
    return [" ".join(one.text.replace("Copy", "").split()) for one in rows]


def test_it_is_set_with_records_to_copy_which_are_found_once_they_are_there_and_removed(
    visitor: Visitor, running: Agent, dns: NameServer, owner: User
) -> None:
    value = claims.value_of(owner.pk)
    answer = set_to(visitor, running, " Bot.Example.ORG. ")
    assert answer.headers["Location"] == f"{place(running)}?look=now"
    page = visitor.open(f"{place(running)}?look=now")
    assert table(page) == [f"TXT {PROOF} {value} not found yet", f"A {NAME} {OUR_ADDRESS} not found yet"]
    assert f"It is not proved yet that {NAME} is yours: set the TXT record by" in text(page)
    assert "the name has no address yet" in text(page)

    dns.answers(PROOF, [TxtRecord(value)])
    page = visitor.follow(visitor.send(page, f"{place(running)}/look"))
    assert [row.rsplit(" ", 1)[1] for row in table(page)] == ["found", "yet"]
    assert "is yours, but does not lead here yet" in text(page)

    dns.answers(NAME, ["198.51.100.7"])
    page = visitor.open(f"{place(running)}?look=now")
    assert "the name leads to 198.51.100.7, not here." in text(page)

    dns.answers(NAME, [OUR_ADDRESS])
    visitor.send(page, f"{place(running)}/look")
    page = visitor.open(place(running))
    assert [row.rsplit(" ", 1)[1] for row in table(page)] == ["found", "found"]
    assert f"{NAME} is yours and leads to the agent." in text(page)
    assert settle(running).domain_ready_at is not None

    visitor.follow(visitor.send(page, f"{place(running)}/remove"))
    page = visitor.open(place(running))
    assert "Give the agent one of your own." in text(page)
    assert not page.all("table")
    assert settle(running).domain is None
    assert running.transitions.filter(reason="domain", actor=f"user:{owner.pk}").exists()


def test_what_is_no_domain_is_said_and_kept_to_mend(visitor: Visitor, running: Agent, dns: NameServer) -> None:
    for typed in ("localhost", "x", "<b>", "a" * 2000, "bot.example.org\x00", ""):
        answer = set_to(visitor, running, typed)
        assert answer.status_code == 400
        page = Page(answer.content.decode())
        assert "This cannot be the agent's domain." in text(page)
        assert page.one("input", id="domain").attributes["value"] == typed
    assert not DomainClaim.objects.exists()


@pytest.mark.parametrize("typed", [f"https://{NAME}/", f"HTTP://{NAME}/shop?a=1", f" {NAME}/ "])
def test_an_address_copied_from_a_browser_names_the_domain(
    visitor: Visitor, running: Agent, dns: NameServer, typed: str
) -> None:
    assert set_to(visitor, running, typed).status_code == 303
    assert DomainClaim.objects.get().domain == NAME


def test_a_domain_of_another_agent_is_taken_over_by_whoever_proves_it(
    visitor: Visitor, running: Agent, make_agent: MakeAgent, stranger: User, dns: NameServer, owner: User
) -> None:
    theirs = settle(make_agent(user=stranger))
    set_to(Visitor(stranger), theirs, NAME)
    refused = set_to(visitor, running, NAME)
    assert refused.status_code == 409
    page = Page(refused.content.decode())
    assert "Another agent has this domain" in text(page)
    assert table(page)[0] == f"TXT {PROOF} {claims.value_of(owner.pk)} not found yet"
    dns.answers(PROOF, [TxtRecord(claims.value_of(owner.pk))])
    assert set_to(visitor, running, NAME).status_code == 303
    mine = settle(make_agent())
    refused = set_to(visitor, mine, NAME)
    assert "Another agent of yours has this domain." in text(Page(refused.content.decode()))


def test_a_strangers_agent_is_not_there(running: Agent, stranger: User) -> None:
    other = Visitor(stranger).client
    for page in ("", "/look", "/remove"):
        assert other.get(place(running) + page).status_code == 404
