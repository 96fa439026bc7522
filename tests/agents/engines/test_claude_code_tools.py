"""Each toolset of the real claude-code, called by its model, and what the engine may not do although it asks nobody."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agents.engines.claude_code import CLAUDE_CODE
from agents.runtimes import management
from tests.agents.engines.conftest import ACCESS, IDENTITY, EnginePod
from tests.doubles.model_protocols import ToolCall
from tests.doubles.model_server import Mood

pytestmark = [
    pytest.mark.engines,
    pytest.mark.parametrize("engine", [CLAUDE_CODE.id], indirect=True),
]

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def use(pod: EnginePod, *calls: ToolCall, session: str = "talk") -> str:
    """The model makes these calls, one after the other. Returns all messages that the model has got in the end."""
    pod.model.tool_calls = list(calls)
    assert pod.say("use it", session) == "pong"
    assert pod.model.tool_calls == [], f"not offered: {pod.model.turns()[-1].tools}"
    return json.dumps(pod.model.turns()[-1].body["messages"])


@pytest.fixture
def page(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """A page with a certificate that no authority has signed, and a list of the attempts to connect."""
    pem = tmp_path / "page.pem"
    pem.write_text(IDENTITY.key + IDENTITY.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    tried: list[str] = []
    context.sni_callback = lambda *_: tried.append("hello")
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # the client hangs up, as it should
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_address[1]}/kettle", tried
    server.shutdown()
    server.server_close()


def test_web_goes_to_the_page_itself_and_believes_no_false_certificate(
    pod: EnginePod, page: tuple[str, list[str]]
) -> None:
    url, tried = page
    pod.start(toolsets=["web"])
    assert "certificate" in use(pod, ToolCall("WebFetch", {"url": url, "prompt": "Which kettle?"}))
    assert tried


@pytest.mark.parametrize("toolset", ["web", "search"])
def test_search_is_the_models_own(pod: EnginePod, toolset: str) -> None:
    """The vendor searches: the same model is called with the vendor's search tool, through the key proxy."""
    pod.start(toolsets=[toolset])
    pod.model.reply = lambda seen: "it is blue" if seen.tools == {"web_search"} else "pong"
    assert "it is blue" in use(pod, ToolCall("WebSearch", {"query": "kettle"}))
    assert {seen.model for seen in pod.model.turns()} == {pod.spec.config.model}


def test_file_reads_searches_writes_and_edits_in_the_workspace(pod: EnginePod) -> None:
    pod.start(toolsets=["file"])
    heard = use(
        pod,
        ToolCall("Write", {"file_path": "notes.txt", "content": "the kettle is blue"}),
        ToolCall("Edit", {"file_path": "notes.txt", "old_string": "blue", "new_string": "green"}),
        ToolCall("Glob", {"pattern": "*.txt"}),
        ToolCall("Grep", {"pattern": "kettle", "output_mode": "content"}),
        ToolCall("Read", {"file_path": str(pod.data / "workspace" / "notes.txt")}),
    )
    assert heard.count("the kettle is green") == 2
    assert (pod.data / "workspace" / "notes.txt").read_text() == "the kettle is green"


def test_terminal_runs_commands(pod: EnginePod) -> None:
    pod.start(toolsets=["terminal"])
    assert "from-42" in use(pod, ToolCall("Bash", {"command": "echo from-$((40 + 2))"}))


def test_vision_shows_the_image_to_the_model(pod: EnginePod) -> None:
    pod.start(toolsets=["vision"])
    (pod.data / "workspace" / "dot.png").write_bytes(DOT)
    heard = use(pod, ToolCall("Read", {"file_path": "dot.png"}))
    assert '"type": "image"' in heard


def test_todo_keeps_a_list(pod: EnginePod) -> None:
    pod.start(toolsets=["todo"])
    step = {"content": "boil water", "status": "pending", "activeForm": "boiling water"}
    assert "modified successfully" in use(pod, ToolCall("TodoWrite", {"todos": [step]}))


def test_memory_is_known_in_the_next_conversation_and_to_the_owner(pod: EnginePod) -> None:
    pod.start(toolsets=["memory"])
    memory = pod.data / "claude" / "memory" / "MEMORY.md"
    use(pod, ToolCall("Write", {"file_path": str(memory), "content": "- The owner likes green tea.\n"}))
    pod.say("hello", "another")
    assert "The owner likes green tea." in json.dumps(pod.model.turns()[-1].body["messages"])
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    assert management.memory(endpoint, ACCESS).memories == [("MEMORY.md", "- The owner likes green tea.\n")]
    pod.change(toolsets=["file"])
    pod.say("hello", "third")
    assert "green tea" not in json.dumps(pod.model.turns()[-1].body["messages"])


def test_skills_are_announced_and_read_but_their_commands_do_not_run(pod: EnginePod) -> None:
    skill = pod.data / "claude" / "skills" / "tea" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tea\ndescription: How to make tea.\n---\nAt 80 degrees.\n!`touch made-by-a-skill`\n")
    pod.start(toolsets=["skills"])
    heard = use(pod, ToolCall("Skill", {"skill": "tea"}))
    assert "How to make tea." in heard
    assert "At 80 degrees." in heard
    assert not list(pod.data.rglob("made-by-a-skill"))


def test_delegation_has_the_same_model_no_more_tools_and_an_answer_within_the_turn(pod: EnginePod) -> None:
    pod.start(toolsets=["delegation", "todo"])
    pod.model.reply = lambda seen: "it is blue" if "given a piece of work" in seen.system else "pong"
    call = ToolCall("Agent", {"description": "look", "prompt": "Which kettle?", "subagent_type": "helper"})
    assert "it is blue" in use(pod, call)
    helpers = [seen for seen in pod.model.turns() if "given a piece of work" in seen.system]
    assert len(helpers) == 1
    assert helpers[0].tools <= {"Agent", "TodoWrite"}
    assert helpers[0].model == pod.spec.config.model


def test_without_a_shell_its_files_are_the_workspace_alone(pod: EnginePod, tmp_path: Path) -> None:
    pod.start(toolsets=["file"])
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("nobody's business")
    settings = pod.data / "claude" / "settings.json"
    heard = use(
        pod,
        ToolCall("Read", {"file_path": str(elsewhere)}),
        ToolCall("Grep", {"pattern": "business", "path": str(tmp_path), "output_mode": "content"}),
        ToolCall("Write", {"file_path": str(settings), "content": "{}"}),
    )
    assert heard.count("has been denied") == 3
    assert "nobody's business" not in heard
    assert not settings.exists()


def test_what_was_written_into_its_settings_runs_nothing(pod: EnginePod) -> None:
    hook = {"hooks": [{"type": "command", "command": f"touch {pod.data}/made-by-a-hook"}]}
    settings = pod.data / "claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"hooks": {"SessionStart": [hook], "UserPromptSubmit": [hook], "Stop": [hook]}}))
    pod.start()
    assert pod.say("hello") == "pong"
    assert not list(pod.data.rglob("made-by-a-hook"))


@pytest.mark.parametrize("message", ["/clear", "/model opus", "/help", "!touch made", "@notes.txt", "/tea"])
def test_a_message_is_never_a_command_of_its_own(pod: EnginePod, message: str) -> None:
    pod.start()
    (pod.data / "workspace" / "notes.txt").write_text("nobody's business")
    pod.say("My boat is called Nautilus.")
    assert pod.say(message) == "pong"
    seen = pod.model.turns()[-1]
    assert [text.rpartition("\n")[2] for _, text in seen.said] == ["My boat is called Nautilus.", "pong", message]
    assert seen.model == pod.spec.config.model
    assert "nobody's business" not in json.dumps(seen.body)


def test_it_makes_no_call_but_those_of_its_turns(pod: EnginePod) -> None:
    pod.start()
    pod.say("one")
    pod.say("two")
    assert [seen.path for seen in pod.model.seen] == ["/v1/messages", "/v1/messages"]


def test_a_provider_that_asks_for_a_minute_is_not_waited_for(pod: EnginePod) -> None:
    pod.start()
    pod.model.mood, pod.model.retry_after = Mood.RATE_LIMITED, 50
    started = time.monotonic()
    assert pod.failing_hop() == "model"
    assert time.monotonic() - started < 20
    pod.model.mood = Mood.FINE
    assert pod.say("again") == "pong"
