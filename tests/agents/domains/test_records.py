"""How answers of DNS are read, from a real server that answers, changes its mind, lies, loops, or does not answer."""

from __future__ import annotations

import time
from typing import Any

import pytest

from agents.domains import records
from tests.doubles.name_server import FAILURE, FORGERY, GARBAGE, SILENCE, Cname, NameServer, TxtRecord
from tests.fixtures import OUR_ADDRESS

NAME, PROOF = "agent.example.org", "_agentpods.agent.example.org"


@pytest.mark.parametrize(
    ("answer", "points"),
    [
        ([OUR_ADDRESS], True),
        (["198.51.100.1", OUR_ADDRESS], True),
        ([Cname("edge.example.net"), OUR_ADDRESS], True),
        ([Cname("a.example.net"), Cname("b.example.net"), "198.51.100.1"], False),
        (["198.51.100.1"], False),
        (["2001:db8::1"], False),
        ([Cname("nowhere.example.net")], False),
        ([], False),
    ],
)
def test_a_name_leads_here_when_one_of_its_addresses_is_ours(dns: NameServer, answer: list[str], points: bool) -> None:
    dns.answers(NAME, answer)
    assert records.look(NAME).points_here is points


def test_a_name_that_does_not_exist_is_known_not_to(dns: NameServer) -> None:
    seen = records.look(NAME)
    assert (seen.addresses, seen.texts, seen.points_here) == ((), frozenset(), False)


def test_a_name_may_lead_here_by_ipv6(dns: NameServer, settings: Any) -> None:
    settings.EXPECTED_IP = "2001:DB8:0:0::1"
    dns.answers(NAME, ["2001:db8::1"])
    assert records.look_address(NAME)
    settings.EXPECTED_IP = "not an address"
    assert not records.look_address(NAME)


@pytest.mark.parametrize(
    "texts",
    [
        [TxtRecord("the-value")],
        [TxtRecord("the-|val|ue")],
        [TxtRecord(" the-value ")],
        [TxtRecord("v=spf1 -all"), TxtRecord("the-value"), TxtRecord("other")],
        [Cname("proofs.example.net"), TxtRecord("the-value")],
    ],
)
def test_the_proof_is_one_of_the_texts(dns: NameServer, texts: list[str]) -> None:
    dns.answers(PROOF, texts)
    assert records.look(NAME).proves("the-value")


@pytest.mark.parametrize("texts", [[TxtRecord("the-value-and-more")], [TxtRecord("the-|other")], [TxtRecord("")], []])
def test_other_texts_prove_nothing(dns: NameServer, texts: list[str]) -> None:
    dns.answers(PROOF, texts)
    assert not records.look(NAME).proves("the-value")


@pytest.mark.parametrize("trouble", [SILENCE, FAILURE, GARBAGE, FORGERY, [Cname(NAME)]])
def test_a_server_that_gives_no_answer_leaves_it_unknown(
    dns: NameServer, monkeypatch: pytest.MonkeyPatch, trouble: list[str]
) -> None:
    monkeypatch.setattr(records, "LOOK_SECONDS", 0.3)
    dns.forged = OUR_ADDRESS
    dns.answers(NAME, trouble)
    dns.answers(PROOF, [Cname(PROOF)] if isinstance(trouble[0], Cname) else trouble)
    began = time.monotonic()
    seen = records.look(NAME)
    assert not seen.proves("the-value")
    assert seen.points_here is not True
    if trouble[0] != NAME:
        assert (seen.addresses, seen.texts) == (None, None)
    assert time.monotonic() - began < 2


def test_a_huge_answer_is_read_over_tcp_and_not_kept_whole(dns: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LOOK_SECONDS", 20.0)
    monkeypatch.setattr(records, "WAIT_SECONDS", 30.0)
    dns.answers(PROOF, [TxtRecord("the-value"), *(TxtRecord(f"{number:03}" + "x" * 200) for number in range(250))])
    dns.answers(NAME, [f"198.18.{number // 250}.{number % 250}" for number in range(2_000)])
    seen = records.look(NAME)
    assert seen.texts is not None
    assert len(seen.texts) <= records.MAX_SHOWN
    assert seen.addresses is not None
    assert len(seen.addresses) <= 2 * records.MAX_SHOWN


def test_a_thousand_looks_at_a_silent_server_hold_no_more_threads_than_there_are(
    dns: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look that gets no thread in time has the result unknown."""
    monkeypatch.setattr(records, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(records, "WAIT_SECONDS", 0.3)
    dns.answers(NAME, SILENCE)
    asked = [records._threads.submit(records._addresses, NAME, 4) for _ in range(200)]
    assert records.look(NAME).addresses is None
    for each in asked:
        each.cancel()
