"""An engine whose adapter gives more than text: which events the bridge sends, and what a peer gets in the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from agents.pod.turns.parts import FILE_BYTES, DataPart, FilePart, LinkPart, TurnEnding, wire
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import TOKEN
from tests.doubles.engine import PartsEngine, bridge_of

FILE = FilePart(name="out/chart.png", media_type="image/PNG", content=b"\x89PNG")
TIDY = FilePart(name="chart.png", media_type="image/png", content=b"\x89PNG")
LINK = LinkPart(name="chart.png", media_type="image/png", url="https://example.com/chart.png")


@pytest.fixture
def engine() -> PartsEngine:
    return PartsEngine()


@pytest.fixture
def bridge_url(engine: PartsEngine, tmp_path: Path) -> Iterator[str]:
    with bridge_of(engine, tmp_path) as url:
        yield url


def turn(url: str) -> list[dict[str, Any]]:
    body = {"session_id": "s", "message": "draw it"}
    answer = requests.post(f"{url}/turn", json=body, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=10)
    return [json.loads(line) for line in answer.text.splitlines()]


def test_parts_are_told_between_the_words_and_tidied(engine: PartsEngine, bridge_url: str) -> None:
    engine.says = ["here ", FILE, "it is", DataPart(value=5)]
    assert turn(bridge_url) == [
        {"type": "delta", "text": "here "},
        {"type": "part", "part": wire(TIDY)},
        {"type": "delta", "text": "it is"},
        {"type": "part", "part": {"kind": "data", "data": 5}},
        {"type": "done", "reply": "here it is"},
    ]


def test_a_part_that_breaks_a_rule_never_leaves_the_bridge(engine: PartsEngine, bridge_url: str) -> None:
    huge = FilePart(name="a", media_type="image/png", content=b"x" * (FILE_BYTES + 1))
    script = LinkPart(name="a", media_type="text/html", url="javascript:alert(1)")
    engine.says = [huge, script, *[LINK] * 20, "done"]
    *parts, words, done = turn(bridge_url)
    kinds = [part["part"]["kind"] for part in parts]
    assert kinds == ["note", "note", *["link"] * 14, "note"]
    assert (words["text"], done["reply"]) == ("done", "done")


@pytest.mark.parametrize("ending", [TurnEnding.REMARK, TurnEnding.QUESTION])
def test_a_turn_that_does_not_end_with_an_answer_says_how(
    engine: PartsEngine, bridge_url: str, ending: TurnEnding
) -> None:
    engine.says = ["which one?", ending]
    assert turn(bridge_url)[-1] == {"type": "done", "reply": "which one?", "ending": ending.value}


def test_what_an_adapter_gives_reaches_owner_and_peer(engine: PartsEngine, bridge_url: str, tmp_path: Path) -> None:
    engine.says = ["here it is", FILE]
    given = {"bridge_url": bridge_url, "run_dir": str(tmp_path), "a2a_enabled": True, "a2a_token": "peers-token"}
    gateway = GatewayProcess(given)
    try:
        gateway.wait_until_up()
        assert gateway.chat("draw it", "s").json() == {
            "reply": "here it is",
            "session_id": "s",
            "parts": [wire(TIDY)],
        }
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "draw it"}]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        headers = {"Authorization": "Bearer peers-token", "A2A-Version": "1.0"}
        task = requests.post(f"{gateway.public}/a2a", json=body, headers=headers, timeout=10).json()["result"]["task"]
        assert [artifact["parts"] for artifact in task["artifacts"]] == [
            [{"text": "here it is"}],
            [{"raw": "iVBORw==", "filename": "chart.png", "mediaType": "image/png"}],
        ]
    finally:
        gateway.stop()
