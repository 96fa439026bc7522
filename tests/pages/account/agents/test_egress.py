"""The page where an owner limits which hosts the agent asks, gives it secrets, and sees what it asked."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from agents.egress import rules
from agents.egress.models import EgressHost
from agents.models import Agent, Transition
from tests.pages.account.visitor import Visitor, shown, statements, text
from tests.pages.page import Page

VALUE = "ghp_0123456789abcdefghijklmnop"
SECRET = {"name": "GITHUB_TOKEN", "for": "api.github.com", "header": "Authorization", "prefix": "Bearer "}


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def place(agent: Agent, rest: str = "") -> str:
    return f"/account/agents/{agent.pk}/egress{rest}"


def chosen(page: Page) -> str:
    [radio] = [one for one in page.all("input", name="list") if "checked" in one.attributes]
    return radio.attributes["value"]


def test_the_list_is_switched_on_and_off_and_keeps_its_hosts(visitor: Visitor, running: Agent, owner: User) -> None:
    page = visitor.open(place(running))
    assert (chosen(page), page.one("textarea", id="hosts").text) == ("off", "")
    typed = "Example.com\r\n\r\n  *.example.org \r\n"
    page = visitor.follow(visitor.send(page, place(running), list="on", hosts=typed))
    assert (chosen(page), page.one("textarea", id="hosts").text.strip()) == ("on", "example.com\n*.example.org")
    assert "The network does not enforce this list yet" in text(page)
    assert rules.of(running).hosts == ["example.com", "*.example.org"]
    page = visitor.follow(visitor.send(page, place(running), list="off", hosts=page.one("textarea", id="hosts").text))
    assert (chosen(page), rules.of(running).hosts) == ("off", ["example.com", "*.example.org"])
    assert set(Transition.objects.filter(note__startswith="egress").values_list("actor", flat=True)) == {
        f"user:{owner.pk}"
    }


@pytest.mark.parametrize("hosts", ["https://example.com/", "10.0.0.1", "exämple.com", "\n".join(["a.example"] * 201)])
def test_what_is_no_host_is_refused_and_stays_in_the_form(visitor: Visitor, running: Agent, hosts: str) -> None:
    page = shown(visitor.send(visitor.open(place(running)), place(running), list="on", hosts=hosts), status=400)
    assert "Write one host a line" in text(page)
    assert (chosen(page), page.one("textarea", id="hosts").text.strip()) == ("on", hosts)
    assert not rules.of(running).is_limited


def test_a_secret_is_set_replaced_and_removed_and_never_shown(visitor: Visitor, running: Agent) -> None:
    page = visitor.open(place(running))
    assert [page.one("input", id=name).attributes["value"] for name in ("header", "prefix")] == [
        "Authorization", "Bearer ",
    ]  # fmt: skip
    page = visitor.follow(visitor.send(page, place(running, "/secrets"), **SECRET, value=VALUE))
    assert VALUE not in page.html
    for words in ("GITHUB_TOKEN", "api.github.com", "Authorization", "set: "):
        assert words in text(page)
    [kept] = rules.of(running).secrets
    assert (kept["value"], kept["hosts"], kept["prefix"]) == (VALUE, ["api.github.com"], "Bearer ")
    page = visitor.follow(visitor.send(page, place(running, "/secrets"), **{**SECRET, "header": "X-Token"}, value=""))
    [kept] = rules.of(running).secrets
    assert (kept["value"], kept["header"]) == (VALUE, "X-Token")
    visitor.send(page, place(running, "/secrets/remove"), name="GITHUB_TOKEN")
    assert rules.of(running).secrets == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"name": "1st"}, "Choose another name"),
        ({"header": "Host"}, "This header cannot be used"),
        ({"header": "x" * 200}, "This header cannot be used"),
        ({"for": ""}, "Write one host a line"),
        ({"for": "127.0.0.1"}, "Write one host a line"),
        ({"value": ""}, "Enter the secret"),
        ({"value": "short"}, "Enter the secret"),
        ({"value": "x" * 5_000}, "Enter the secret"),
        ({"prefix": "x" * 40}, "This cannot stand before"),
        ({"name": "OTHER"}, "Another secret is sent to this host"),
    ],
)
def test_a_wrong_secret_is_refused_in_words_and_not_repeated(
    visitor: Visitor, running: Agent, wrong: dict[str, str], words: str
) -> None:
    taken = {"header": "Authorization", "value": "another-0123456789", "actor": "user:x"}
    rules.put_secret(running, "TAKEN", hosts=["api.github.com" if wrong == {"name": "OTHER"} else "a.example"], **taken)
    sent = {**SECRET, "value": VALUE, **wrong}
    page = shown(visitor.send(visitor.open(place(running)), place(running, "/secrets"), **sent), status=400)
    assert words in text(page)
    assert VALUE not in page.html
    assert page.one("input", id="header").attributes["value"] == sent["header"]
    assert [one["name"] for one in rules.of(running).secrets] == ["TAKEN"]


def test_what_was_asked_is_counted_the_newest_day_first(visitor: Visitor, running: Agent) -> None:
    today = timezone.now().date()
    for host, days, count, is_refused in (
        ("example.com:443", 0, 7, False),
        ("evil.example:443", 0, 9, True),
        ("*", 1, 3, True),
        ("?", 1, 2, True),
        ("old.example:443", 20, 1, False),
    ):
        day = today - timedelta(days=days)
        EgressHost.objects.create(agent=running, day=day, host=host, is_refused=is_refused, count=count)
    rows = [" ".join(row.text.split()) for row in visitor.open(place(running)).all("tr")[1:]]
    assert [(row.split()[0], "refused" in row, row.split()[-1]) for row in rows] == [
        ("evil.example:443", True, "9"), ("example.com:443", False, "7"), ("other", True, "3"), ("what", True, "2"),
    ]  # fmt: skip


def test_a_long_log_takes_no_more_queries(visitor: Visitor, running: Agent) -> None:
    few = statements(visitor, place(running))
    today = timezone.now().date()
    EgressHost.objects.bulk_create(
        EgressHost(agent=running, day=today, host=f"h{number}.example:443", count=1) for number in range(300)
    )
    assert statements(visitor, place(running)) == few
    page = visitor.open(place(running))
    assert len(page.all("tr")) == 101
    assert "There are more rows" in text(page)


def test_another_account_does_not_see_it(stranger: User, running: Agent) -> None:
    rules.replace(running, is_limited=True, hosts=["secret.example"], actor="user:x")
    strange = Visitor(stranger)
    assert "secret.example" not in strange.open(place(running), status=404).html
    strange.client.post(place(running, "/secrets/remove"), {"name": "A"})
    assert rules.of(running).is_limited
