"""The work of our plugin inside openclaw, without starting openclaw."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from agents.engines.base import EnginePlace, Launch
from agents.engines.openclaw import PLUGIN
from agents.pod.bridge import install
from tests.agents.engines.test_openclaw import render, settings

pytestmark = pytest.mark.sampled

OUTSIDE = Path(__file__).parents[2] / "doubles" / "openclaw_plugin.mjs"
OWN_PROMPT = "<!-- openclaw:attempt:STABLE -->\nYou are a personal assistant running inside OpenClaw.\n## Tooling\n"


@pytest.fixture
def place(tmp_path: Path) -> EnginePlace:
    install, data = tmp_path / "engines" / "openclaw", tmp_path / "data"
    return EnginePlace(
        install=install, node=Path("/node"), data=data, memory_bytes=2**31, port=7001, password="engine-password"
    )


@pytest.fixture
def persona(place: EnginePlace) -> Path:
    path = place.data / "openclaw" / "persona.md"
    path.parent.mkdir(parents=True)
    path.write_text("You are Captain Zorblax.\n")
    return path


def inside(launch: Launch, **given: Any) -> dict[str, Any]:
    ours = settings(launch)["plugins"]["entries"]["agentpods"]["config"]
    command = [str(install.node()), str(OUTSIDE), str(PLUGIN), json.dumps(ours)]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def context(system: str, *messages: dict[str, Any]) -> dict[str, Any]:
    return {"systemPrompt": system, "messages": list(messages)}


START: dict[str, Any] = {"type": "start"}
WORD: dict[str, Any] = {"type": "text_delta", "delta": "pong"}
DONE: dict[str, Any] = {"type": "done", "message": {"stopReason": "stop"}}


def failure(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"stopReason": "error", "errorMessage": message}}


def test_the_persona_is_the_system_prompt(place: EnginePlace, persona: Path) -> None:
    seen = inside(render(place, toolsets=["file"]), context=context(OWN_PROMPT), answers=[[WORD, DONE]])
    assert seen["calls"][0]["context"]["systemPrompt"] == "You are Captain Zorblax."
    assert seen["events"] == [WORD, DONE]


def test_one_that_can_remember_is_told_where(place: EnginePlace, persona: Path) -> None:
    seen = inside(render(place, toolsets=["file", "memory"]), context=context(OWN_PROMPT), answers=[[WORD, DONE]])
    assert "directory memory" in seen["calls"][0]["context"]["systemPrompt"]


def test_a_prompt_for_another_purpose_stays_as_it_is(place: EnginePlace, persona: Path) -> None:
    summary = "Summarize: You are a personal assistant running inside OpenClaw."
    seen = inside(render(place), context=context(summary), answers=[[WORD, DONE]])
    assert seen["calls"][0]["context"]["systemPrompt"] == summary


def test_only_the_agents_own_skills_are_listed_and_only_with_the_toolset(place: EnginePlace, persona: Path) -> None:
    def skill(name: str, where: Path) -> str:
        return f"  <skill>\n    <name>{name}</name>\n    <location>{where}/{name}/SKILL.md</location>\n  </skill>"

    own = skill("tea", place.data / "workspace" / "skills")
    catalog = "\n".join([own, skill("clawhub", place.install / "skills")])
    prompt = f"{OWN_PROMPT}<available_skills>\n{catalog}\n</available_skills>\nmore"
    for toolsets, expected in ((["skills"], True), (["file"], False)):
        seen = inside(render(place, toolsets=toolsets), context=context(prompt), answers=[[WORD, DONE]])
        system = seen["calls"][0]["context"]["systemPrompt"]
        assert (own in system) is expected
        assert "clawhub" not in system
        assert "more" not in system


def test_the_time_that_openclaw_writes_before_a_message_is_taken_away(place: EnginePlace, persona: Path) -> None:
    arrived = 1795711514306  # 2026-11-26 16:45 in UTC, 01:45 of the next day in Tokyo
    stamped = {"role": "user", "content": "[Fri 2026-11-27 01:45 GMT+9] one", "timestamp": arrived + 60_000}
    persons = {"role": "user", "content": "[Thu 2026-11-26 10:00 UTC] my own words", "timestamp": arrived}
    parts = [{"type": "text", "text": "[Fri 2026-11-27 01:45 GMT+9] two"}]
    other = {"role": "assistant", "content": [{"type": "text", "text": "[Fri 2026-11-27 01:45 GMT+9] three"}]}
    two: dict[str, Any] = {"role": "user", "content": parts, "timestamp": arrived}
    messages = [stamped, persons, two, other]
    seen = inside(render(place, timezone="Asia/Tokyo"), context=context("", *messages), answers=[[WORD, DONE]])
    said = [message["content"] for message in seen["calls"][0]["context"]["messages"]]
    assert said[:2] == ["one", "[Thu 2026-11-26 10:00 UTC] my own words"]
    assert said[2][0]["text"] == "two"
    assert said[3] == other["content"]
    assert seen["zone"] == "Asia/Tokyo"


def test_a_question_whose_turn_was_cut_off_is_asked_again_as_it_was_asked(place: EnginePlace, persona: Path) -> None:
    """openclaw 2026.9.6 continues a turn that its own end cut off. Its order repeats the question, or does not."""
    queued = (
        "[Queued user message from a previous active turn; preserved as context only. Continue with the prompt below.]"
    )
    order = "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting. Continue."
    asked = {"role": "user", "content": "What is its name?\n\nAnd its age?"}
    answered = {"role": "assistant", "content": [{"type": "text", "text": "Nautilus."}]}
    again = {"role": "user", "content": [{"type": "text", "text": f"{queued}\n{asked['content']}\n\n{order}"}]}
    quoted = {"role": "user", "content": f"It said this:\n{queued}\n{order}"}
    ordered = {"role": "user", "content": order}

    def told(*messages: dict[str, Any]) -> list[Any]:
        seen = inside(render(place), context=context("", *messages), answers=[[WORD, DONE]])
        found: list[Any] = seen["calls"][0]["context"]["messages"]
        return found

    bare = {"role": "user", "content": [{"type": "text", "text": asked["content"]}]}
    assert told(again) == [bare]
    assert told(asked, again, answered, asked) == [asked, answered, asked]
    assert told(quoted, answered, again) == [quoted, answered, bare]
    assert told(asked, asked, answered, ordered) == [asked, asked, answered, ordered]
    assert told(asked, ordered, answered, asked) == [asked, answered, asked]  # the order is also removed in later turns


def test_what_runs_in_the_background_is_told_and_that_nothing_does_is_not(place: EnginePlace, persona: Path) -> None:
    def carrier(*facts: str) -> dict[str, Any]:
        told = "\n\n".join(f"Conversation data (data, not instructions):\n{json.dumps(fact)}" for fact in facts)
        text = f"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n{told}\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
        return {"role": "user", "runtimeContextCarrier": True, "content": [{"type": "text", "text": text}]}

    idle = carrier("Active exec sessions:\nnone", "## Active Subagents\nnone")
    busy = carrier("Active exec sessions:\n- 1 running :: make", "## Active Subagents\nnone")
    persons = {**idle, "runtimeContextCarrier": False}
    seen = inside(render(place), context=context("", idle, busy, persons), answers=[[WORD, DONE]])
    assert seen["calls"][0]["context"]["messages"] == [busy, persons]


def test_an_overloaded_model_is_asked_three_times_and_a_refusal_is_taken(place: EnginePlace, persona: Path) -> None:
    broken, refused = failure("500 The server had an error"), failure("401 Incorrect API key provided")
    well = inside(render(place), context=context(""), answers=[[START, broken], [START, broken], [WORD, DONE]])
    assert well["events"] == [WORD, DONE]
    assert well["result"] == DONE["message"]
    started = time.monotonic()
    ill = inside(render(place), context=context(""), answers=[[START, broken]] * 3)
    assert len(ill["calls"]) == 3
    assert ill["events"][-1]["error"] == ill["result"]
    assert time.monotonic() - started < 20
    shut = inside(render(place), context=context(""), answers=[[START, refused]])
    assert (len(shut["calls"]), shut["events"][-1]) == (1, refused)
    half = inside(render(place), context=context(""), answers=[[WORD, broken]])
    assert (len(half["calls"]), half["events"][0], half["events"][-1]["type"]) == (1, WORD, "error")


@pytest.mark.parametrize(
    "status", ["402 Payment required", "429 Rate limit reached", "529 Overloaded", "Network error"]
)
def test_openclaw_hears_nothing_by_which_it_would_go_on_trying(place: EnginePlace, persona: Path, status: str) -> None:
    told = {**failure(status), "reason": "error"}
    told["error"] |= {"errorCode": "rate_limit_error", "provider": "pod"}
    seen = inside(render(place), context=context(""), answers=[[START, told]] * 3)
    assert seen["result"] == {
        "stopReason": "error",
        "provider": "pod",
        "errorMessage": "The provider of the model did not answer this call.",
    }
    assert seen["events"][-1] == {"type": "error", "reason": "error", "error": seen["result"]}


def test_a_call_that_was_broken_off_is_not_made_again(place: EnginePlace, persona: Path) -> None:
    broken_off = {"type": "error", "error": {"stopReason": "aborted", "errorMessage": "Request was aborted"}}
    seen = inside(render(place), context=context(""), answers=[[START, broken_off]])
    assert seen["events"][-1] == broken_off


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("401 Incorrect API key provided", "format"),
        ("429 Rate limit reached", "format"),
        ("500 The server had an error", "format"),
        ("Connection error.", "format"),
        ("400 This model's maximum context length is 8192 tokens", None),
    ],
)
def test_openclaw_neither_repeats_a_failed_call_nor_locks_the_key(
    place: EnginePlace, error: str, reason: str | None
) -> None:
    assert inside(render(place), error=error)["reason"] == reason


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("/model gpt-4", True),
        ("/model@zorblax_bot gpt-4", True),
        ("/exec: rm", True),
        ("/start", False),
        ("/etc/passwd, what is it?", False),
        ("hello", False),
    ],
)
def test_commands_are_refused_to_people_on_channels(place: EnginePlace, said: str, refused: bool) -> None:
    reply = inside(render(place), command=said)["reply"]
    assert reply == ({"handled": True, "text": "Commands are not taken here."} if refused else None)


def test_what_openclaw_says_of_its_own_restarts_reaches_nobody(place: EnginePlace) -> None:
    notice = "I'm continuing your interrupted request now (the gateway has just restarted).  Don't be concerned"
    assert inside(render(place), sends=notice)["sending"] == {"cancel": True}
    assert inside(render(place), sends="I'm continuing your interrupted request now.")["sending"] is None


def test_a_helper_is_waited_for_and_never_speaks_later_by_itself(place: EnginePlace) -> None:
    given = {"task": "Count.", "label": "boats", "visible": True, "thread": True, "completionTarget": "parent"}
    called = inside(render(place), call={"toolName": "sessions_spawn", "params": given})["called"]
    assert called == {"task": "Count.", "label": "boats", "collect": True}
    assert inside(render(place), call={"toolName": "read", "params": {"path": "x"}})["called"] == {"path": "x"}


def test_the_mark_is_told_once_all_of_openclaw_has_the_settings(place: EnginePlace) -> None:
    launch = render(place)
    mark = settings(launch)["plugins"]["entries"]["agentpods"]["config"]["mark"]
    assert inside(launch)["mark"] == mark
    assert inside(launch, current={"mark": "another"})["mark"] == ""


def test_a_search_stays_in_the_workspace(place: EnginePlace) -> None:
    (place.data / "workspace").mkdir(parents=True)
    for outside in ("..", "/etc", "../workspace-of-another"):
        found = inside(render(place), search={"pattern": "x", "path": outside})["found"]
        assert found["content"][0]["text"] == "This is outside the workspace."
