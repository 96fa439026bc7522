"""The page with what an agent did: for its owner alone, with a switch and a deletion."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from agents.models import Agent
from agents.replay import recording
from agents.replay.models import ReplayEntry
from tests.agents.replay.conftest import entry, hand_over, stored
from tests.pages.account.visitor import Visitor, statements, text


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def place(agent: Agent, query: str = "") -> str:
    return f"/account/agents/{agent.pk}/replay{query}"


def test_it_tells_what_the_agent_did_in_words(visitor: Visitor, running: Agent) -> None:
    hand_over(
        running,
        entry(kind="turn.began", session="ses_1", asked="Which owls? <script>alert(1)</script>"),
        entry(kind="model.call", ms=1234, cause="MODEL_KEY_REFUSED", error="openai refused the model key (401)"),
        entry(kind="tool.call", tool="search", arguments='{"q": "owls"}'),
        entry(kind="turn.failed", hop="model"),
        not_kept={f"{timezone.now():%Y-%m-%d}": 7},
    )
    page = visitor.open(place(running))
    shown = text(page)
    for words in (
        "Question in a chat",
        "Which owls? <script>alert(1)</script>",
        "1.2 s",
        "0.000004 USD",
        "the provider refuses its model key",
        "Its model asked for a tool search",
        '{"q": "owls"}',
        "No answer",
        "7 more on this day",
    ):
        assert words in shown


def test_its_pages_turn_and_a_conversation_stands_alone(visitor: Visitor, running: Agent) -> None:
    stored(running, 40, every=timedelta(minutes=1), session="a b")
    stored(running, 1, kind="turn.ended", session="c")
    first = visitor.open(place(running))
    assert len(first.all("time")) == 30
    [following] = [one for one in first.all("a") if one.attributes.get("rel") == "next"]
    assert len(visitor.open(following.attributes["href"]).all("time")) == 11
    assert len(visitor.open(place(running, "?session=c")).all("time")) == 1


def test_a_long_replay_takes_no_more_queries_and_a_wrong_address_is_refused(visitor: Visitor, running: Agent) -> None:
    stored(running, 1)
    few = statements(visitor, place(running))
    stored(running, 200)
    assert statements(visitor, place(running)) == few
    visitor.open(place(running, "?cursor=x"), status=400)


def test_the_owner_switches_it_off_and_on_again(visitor: Visitor, running: Agent) -> None:
    [button] = visitor.open(place(running)).all("button", name="recording")
    assert (button.attributes["value"], button.text) == ("no", "Record nothing any more")
    page = visitor.follow(visitor.send(visitor.open(place(running)), place(running), recording="no"))
    assert "nothing new is recorded" in text(page)
    assert not recording.is_on(running)
    visitor.send(page, place(running), recording=page.one("button", name="recording").attributes["value"])
    assert recording.is_on(running)


def test_all_of_it_is_deleted_after_a_question(visitor: Visitor, running: Agent) -> None:
    stored(running, 3)
    asked = visitor.open(place(running, "/delete"))
    assert ReplayEntry.objects.count() == 3
    page = visitor.follow(visitor.send(asked, place(running, "/delete")))
    assert "Nothing is recorded yet." in text(page)
    assert not ReplayEntry.objects.exists()


def test_another_account_does_not_see_it(stranger: User, running: Agent) -> None:
    hand_over(running, entry(asked="Which owls?"))
    strange = Visitor(stranger)
    for address in (place(running), place(running, "/delete")):
        assert "Which owls?" not in strange.open(address, status=404).html
