"""The events of a turn between bridge, gateway and control plane: both sides speak of the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.pod.turns.events import Delta, Done, EventReader, PartGiven, TurnEvent, line
from agents.pod.turns.failures import EngineError, Hop, HopFailure, ModelError
from agents.pod.turns.parts import PARTS_AT_MOST, DataPart, NotePart, TurnEnding

BROKEN = "it broke off"


def reader(teller: Hop = Hop.ENGINE) -> EventReader:
    return EventReader(teller, broken=BROKEN)


@pytest.mark.parametrize(
    "event",
    [
        Delta("a\nb"),
        Delta(""),
        PartGiven(DataPart(value={"key": [1, None]})),
        Done("the whole"),
        Done("", "ses_1"),
        Done("which one?", "ses_1", TurnEnding.QUESTION),
    ],
)
def test_an_event_is_one_line_and_reads_as_it_was_told(event: TurnEvent) -> None:
    said = line(event)
    assert said.count(b"\n") == 1
    assert reader().read(json.loads(said)) == event


@pytest.mark.parametrize(
    "failure", [EngineError("it is dead"), ModelError("no"), HopFailure(Hop.MODEL, "no", reason="no_credit")]
)
def test_a_failure_reads_as_it_was_told(failure: HopFailure) -> None:
    with pytest.raises(HopFailure) as told:
        reader().read(json.loads(line(failure)))
    assert vars(told.value) == vars(failure)


@pytest.mark.parametrize(
    ("teller", "said", "counts"),
    [
        (Hop.ENGINE, "model", Hop.MODEL),
        (Hop.ENGINE, "engine", Hop.ENGINE),
        (Hop.ENGINE, "gateway", Hop.ENGINE),
        (Hop.GATEWAY, "gateway", Hop.GATEWAY),
        (Hop.GATEWAY, "engine", Hop.ENGINE),
        (Hop.GATEWAY, "somebody else", Hop.GATEWAY),
        (Hop.GATEWAY, ["model"], Hop.GATEWAY),
    ],
)
def test_a_hop_speaks_for_itself_and_for_those_behind_it(teller: Hop, said: object, counts: Hop) -> None:
    with pytest.raises(HopFailure) as told:
        reader(teller).read({"type": "error", "hop": said, "message": "no"})
    assert told.value.hop == counts


@pytest.mark.parametrize(
    "told",
    [None, 5, "done", [], {}, {"type": "new"}, {"type": "delta"}, {"type": "delta", "text": 5}, {"type": "part"},
     {"type": "done", "reply": None}, {"type": "error", "hop": "model"}],
)  # fmt: skip
def test_what_is_no_event_is_a_failure_of_its_teller(told: Any) -> None:
    with pytest.raises(HopFailure) as failure:
        reader().read(told)
    assert (failure.value.hop, failure.value.message) == (Hop.ENGINE, BROKEN)


def test_fields_and_endings_of_another_release_are_overlooked() -> None:
    told = {"type": "done", "reply": "yes", "ending": "of the future", "more": 1}
    assert reader().read(told) == Done("yes")


def test_parts_above_the_limit_are_noted_once() -> None:
    one = reader()
    told = {"type": "part", "part": {"kind": "data", "data": 5}}
    came = [one.read(told) for _ in range(PARTS_AT_MOST + 3)]
    noted = came[PARTS_AT_MOST]
    assert isinstance(noted, PartGiven)
    assert isinstance(noted.part, NotePart)
    assert came[PARTS_AT_MOST + 1 :] == [None, None]
