"""Inside a real openclaw: the tools that the model calls, and the engine's work without a request."""

from __future__ import annotations

import json
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agents.engines.openclaw import OPENCLAW
from agents.runtimes.base import Phase
from tests.agents.engines.conftest import EnginePod
from tests.agents.pod.bridge.process import eventually
from tests.doubles.model_protocols import Seen, ToolCall
from tests.doubles.model_server import Mood

pytestmark = [
    pytest.mark.engines,
    pytest.mark.parametrize("engine", [OPENCLAW.id], indirect=True),
]

CALLS: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "memory": [
        ("memory_search", {"query": "boat"}, "named Nautilus"),
        ("memory_get", {"path": "memory/boats.md"}, "named Nautilus"),
    ],
    "session_search": [
        ("sessions_search", {"query": "Octopus"}, "My cat is called Octopus"),
        ("sessions_list", {}, "openai-user:earlier"),
        ("sessions_history", {"sessionKey": "agent:main:openai-user:earlier"}, "My cat is called Octopus"),
    ],
    "todo": [("progress_card", {"plan": [{"step": "row", "status": "in_progress"}]}, "0/1 done")],
    "web": [("web_fetch", {"url": "http://127.0.0.1:1/"}, "locked")],  # blocked: the tool reaches no private address
    "skills": [("read", {"path": "skills/tea/SKILL.md"}, "Boil it.")],
    "terminal": [
        ("exec", {"command": "echo $((40 + 2))-of-exec"}, "42-of-exec"),
        ("exec", {"command": "sleep 60", "background": True}, "session"),
        ("process", {"action": "list"}, "sleep 60"),
    ],
    "file": [
        ("write", {"path": "made.txt", "content": "salt"}, "made.txt"),
        ("edit", {"path": "made.txt", "edits": [{"oldText": "salt", "newText": "pepper"}]}, "made.txt"),
        ("read", {"path": "made.txt"}, "pepper"),
        ("ls", {}, "made.txt"),
        ("grep", {"pattern": "pep+er"}, "made.txt:1:pepper"),
    ],
    "cronjob": [("automations", {"action": "list"}, "jobs")],
}


def test_each_tool_of_each_toolset_is_called_by_the_model_and_works(pod: EnginePod) -> None:
    assert {name for name, tools in OPENCLAW.toolsets.items() for _ in tools} == {*CALLS, "delegation"}
    called = {tool for calls in CALLS.values() for tool, _, _ in calls}
    offered = {tool for tools in OPENCLAW.toolsets.values() for tool in tools}
    assert offered - called == set(OPENCLAW.toolsets["delegation"])
    pod.start(toolsets=list(OPENCLAW.toolsets))
    pod.say("My cat is called Octopus.", "earlier")
    for name, words in {
        "memory/boats.md": "The owner has a boat named Nautilus.\n",
        "skills/tea/SKILL.md": "---\nname: tea\ndescription: Tea.\n---\nBoil it.\n",
    }.items():
        (pod.data / "workspace" / name).parent.mkdir(parents=True)
        (pod.data / "workspace" / name).write_text(words)
    for tool, arguments, expected in [call for calls in CALLS.values() for call in calls]:
        asked = len(pod.model.turns())
        pod.model.tool_calls = [ToolCall(tool, arguments)]
        assert pod.say(f"use {tool}") == "pong"
        assert pod.model.tool_calls == [], f"{tool} was not offered"
        assert expected in heard(pod.model.turns()[asked:]), tool


def heard(turns: list[Seen]) -> str:
    """The results of all tools in these turns."""
    entries = [entry for turn in turns for entry in turn.body["input"] if "output" in entry]
    return json.dumps(entries, ensure_ascii=False)


def test_a_helper_does_its_task_and_the_turn_that_asked_gets_what_it_found(pod: EnginePod) -> None:
    def is_helpers(turn: Seen) -> bool:
        return "[Subagent Task]" in str(turn.said)

    pod.start(toolsets=["delegation", "file"])
    pod.model.reply = lambda seen: "There are 42 boats." if is_helpers(seen) else "pong"
    # With `completionTarget`, the helper would not answer in this turn. The plugin removes the argument.
    pod.model.tool_calls = [ToolCall("sessions_spawn", {"task": "Count the boats.", "completionTarget": "parent"})]
    assert pod.say("How many boats are there?") == "pong"
    asked = heard(pod.model.turns())
    run = re.search(r'\\"runId\\": \\"([0-9a-f-]+)', asked)
    assert run, asked
    eventually(lambda: any(is_helpers(turn) for turn in pod.model.turns()), what="the helper")
    (helper,) = [turn for turn in pod.model.turns() if is_helpers(turn)]
    assert "Count the boats." in str(helper.said)
    assert "Captain Zorblax" in helper.system
    assert helper.tools & set(OPENCLAW.toolsets["file"])
    assert not helper.tools & {"sessions_spawn", "sessions_yield"}
    pod.model.tool_calls = [ToolCall("agents_wait", {"ids": [run[1]]}), ToolCall("subagents", {"action": "list"})]
    assert pod.say("Well?") == "pong"
    assert pod.model.tool_calls == []
    assert "There are 42 boats." in heard(pod.model.turns()[-1:])
    assert "Count the boats." in heard(pod.model.turns()[-1:])
    turns = len(pod.model.turns())
    time.sleep(10)
    assert len(pod.model.turns()) == turns  # no later turn follows, which nobody would see


def test_a_turn_that_was_killed_is_not_taken_up_by_itself(pod: EnginePod) -> None:
    pod.start()
    pod.say("one")
    pod.model.mood = Mood.HANGING
    asked = len(pod.model.turns())
    with ThreadPoolExecutor() as callers:
        callers.submit(pod.failing_hop, "two")
        eventually(lambda: len(pod.model.turns()) > asked, what="the turn")
        pod.signal_engine(signal.SIGKILL)
    pod.model.mood = Mood.FINE
    eventually(lambda: pod.seen().phase == Phase.UNHEALTHY, within=5, what="the death")
    pod.wait_ready(within=60)
    time.sleep(10)
    assert len(pod.model.turns()) == asked + 1
    assert pod.say("three") == "pong"
