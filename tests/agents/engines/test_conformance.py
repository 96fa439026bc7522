"""The rules for every engine in a real pod. `make test-engines` runs them. A new adapter must pass them unchanged."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from agents.pod.turns.events import Delta
from agents.runtimes.base import Phase
from agents.runtimes.local.programs import PodProgram
from tests.agents.engines.conftest import ACCESS, MANAGEMENT_TOKEN, REAL_KEY, TICKET_KEY, EnginePod, each
from tests.agents.engines.expectations import WITHOUT_TOOLS, expected
from tests.agents.engines.looking import found_in_memory
from tests.agents.pod.bridge.process import eventually
from tests.agents.runtimes import turn_calls
from tests.doubles.model_protocols import ToolCall
from tests.doubles.model_server import Mood
from tests.doubles.web_page import WebPage
from tests.patience import Patience

pytestmark = [pytest.mark.engines, pytest.mark.anywhere]

# Some engines refuse shell commands that run in the background, so Python starts the process.
LEAVE_SOMETHING = (
    'import subprocess as s; s.Popen(["sleep", "600"], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)'
)


def test_without_a_key_it_is_healthy_and_says_nothing(pod: EnginePod) -> None:
    pod.start(key=None)
    assert pod.say("hello") == ""
    assert pod.model.turns() == []
    pod.change(key=REAL_KEY)
    assert pod.say("hello") == "pong"


def test_a_conversation_keeps_its_context_over_a_death_of_the_engine(pod: EnginePod) -> None:
    pod.start()
    pod.say("My boat is called Nautilus.")
    before = pod.deaths()
    pod.signal_engine(signal.SIGKILL)
    assert pod.failing_hop() == "engine"
    pod.wait_for_death(after=before)
    pod.wait_ready()
    pod.say("What is its name?")
    assert _said(pod) == ["My boat is called Nautilus.", "pong", "What is its name?"]


def test_a_conversation_keeps_its_context_over_a_restart_of_the_pod(pod: EnginePod) -> None:
    pod.start()
    pod.say("one")
    pod.runtime.stop(pod.namespace)
    pod.wait_for(Phase.STOPPED, within=20)
    pod.start()
    pod.say("two")
    assert _said(pod) == ["one", "pong", "two"]


def test_conversations_are_apart(pod: EnginePod) -> None:
    pod.start()
    pod.say("one", "first")
    pod.say("two", "second")
    assert _said(pod) == ["two"]


def test_while_it_is_killed_again_and_again_it_does_not_answer(pod: EnginePod) -> None:
    pod.start()
    pod.say("one")
    asked = len(pod.model.turns())
    until = time.monotonic() + 20
    while time.monotonic() < until:
        pod.signal_engine(signal.SIGKILL)
        time.sleep(0.2)
    assert pod.failing_hop("two") == "engine"
    assert len(pod.model.turns()) == asked
    pod.wait_ready(within=60)
    assert pod.say("three") == "pong"


def test_while_it_is_stopped_by_a_signal_it_does_not_answer(pod: EnginePod) -> None:
    pod.start()
    pod.say("one")
    pod.signal_engine(signal.SIGSTOP)
    assert pod.failing_hop("two") == "engine"
    pod.wait_for(Phase.UNHEALTHY, within=8)
    pod.signal_engine(signal.SIGCONT)
    pod.wait_ready()
    assert pod.say("three") == "pong"
    assert "two" not in _said(pod)


def test_soul_language_and_time_zone_change_in_place_also_for_a_running_conversation(pod: EnginePod) -> None:
    pod.start()
    pod.say("one")
    assert pod.change(soul="You are Nurse Blip.", extra_soul="Whisper.", lang="ru", timezone="Asia/Tokyo") < 30
    pod.say("two")
    system = pod.model.turns()[-1].system
    assert "Nurse Blip" in system
    assert "Whisper." in system
    assert "Asia/Tokyo" in system
    assert "по-русски" in system
    assert "Zorblax" not in system
    assert _said(pod) == ["one", "pong", "two"]


def test_the_system_prompt_is_the_soul_and_names_no_place_of_the_machine(pod: EnginePod) -> None:
    pod.start(toolsets=list(pod.engine.toolsets), extra_soul="Whisper.")
    pod.say("one")
    pod.change(soul="You are Captain Zorblax. You like tea.")
    pod.say("two")
    for seen in pod.model.turns():
        system = seen.system
        assert system.startswith(expected(pod).system_begins)
        assert "You are Captain Zorblax." in system
        assert "Whisper." in system
        assert "operating inside" not in system
        if expected(pod).says_where_it_works:
            system = system.replace(str(pod.data), "")
        for place in (pod.home, settings.ENGINE_CACHE, Path.home(), "node_modules", "site-packages"):
            assert str(place) not in system
    assert "You like tea." in pod.model.turns()[-1].system


@pytest.mark.parametrize(
    ("engine", "provider"),
    each(lambda known: [(provider,) for provider in known.servers]),
    indirect=["engine"],
)
def test_a_server_of_the_operators_that_speaks_one_protocol_alone_is_enough(pod: EnginePod, provider: str) -> None:
    """The server speaks chat completions for all engines that can use them. For an engine of one vendor, the server
    speaks that vendor's protocol.
    """
    known = expected(pod)
    protocol = known.servers[provider]
    pod.model.speaks = frozenset({protocol})
    toolsets = [known.deed[0]] if known.can_act else []
    pod.start(provider=provider, model="qwen/qwen3:8b", own_model_server=True, toolsets=toolsets)
    if known.can_act:
        _, tool, argument = known.deed
        with WebPage("from-42") as page:
            what = "echo from-$((40 + 2))" if known.exec else page.url
            pod.model.tool_calls = [ToolCall(tool, {argument: what})]
            assert pod.say("run it") == "pong"
        assert "from-42" in str(pod.model.turns()[-1].body)
    pod.model.reply = "one two three"
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    events = list(turn_calls.chat_events(endpoint, ACCESS, message="talk", session_id="talk"))
    assert len([event for event in events if isinstance(event, Delta)]) > 1
    assert {(seen.protocol, seen.model, seen.wants_stream) for seen in pod.model.turns()} == {
        (protocol, "qwen/qwen3:8b", True)
    }


def test_a_conversation_goes_on_when_its_server_becomes_the_operators_own(pod: EnginePod) -> None:
    pod.start(model=expected(pod).models[0])
    pod.say("one")
    pod.model.speaks = frozenset({expected(pod).servers[expected(pod).start[0]]})
    pod.change(own_model_server=True)
    assert pod.say("two") == "pong"
    assert _said(pod) == ["one", "pong", "two"]


def test_many_changes_in_a_row_are_each_in_force_in_time(pod: EnginePod) -> None:
    pod.start()
    for number in range(8):
        assert pod.change(extra_soul=f"Remember the number {number}.") < 30
    pod.say("one")
    assert "number 7" in pod.model.turns()[-1].system


def test_the_model_changes_in_place_also_for_a_running_conversation(pod: EnginePod) -> None:
    names = [*expected(pod).models, "a-model-that-no-engine-knows:free"]
    pod.start(model=names[0])
    pod.say("one")
    pod.change(model=names[1])
    pod.say("two")
    pod.change(model=names[2])
    pod.say("three")
    assert [seen.model for seen in pod.model.turns()] == names


@pytest.mark.parametrize(
    ("engine", "provider", "name"),
    each(lambda known: [known.another] if known.another else []),
    indirect=["engine"],
)
def test_the_provider_changes_in_place_also_for_a_running_conversation(
    pod: EnginePod, provider: str, name: str
) -> None:
    pod.start()
    pod.say("one")
    pod.change(provider=provider, model=name)
    pod.say("two")
    assert pod.model.turns()[-1].model == name
    assert _said(pod) == ["one", "pong", "two"]


@pytest.mark.parametrize(
    ("engine", "provider", "name"),
    each(lambda known: [told for told in known.told_of_tools if known.can_act and told[0] in known.paths]),
    indirect=["engine"],
)
def test_a_disabled_tool_is_absent_from_the_request_also_in_a_running_conversation(
    pod: EnginePod, provider: str, name: str
) -> None:
    toolset, tool, _ = expected(pod).deed
    kept = expected(pod).kept
    pod.start(provider=provider, model=name, toolsets=[kept, toolset])
    pod.say("one")
    assert tool in pod.model.turns()[-1].tools
    pod.change(toolsets=[kept])
    pod.say("two")
    assert expected(pod).whole(pod.model.turns()[-1].tools) == set(pod.engine.toolsets.get(kept, ()))


def test_an_empty_choice_is_the_safe_set(pod: EnginePod) -> None:
    pod.start(toolsets=[])
    pod.say("one")
    safe = {tool for toolset in pod.engine.safe_toolsets for tool in pod.engine.toolsets[toolset]}
    assert expected(pod).whole(pod.model.turns()[-1].tools) == safe
    runs_commands = expected(pod).exec
    assert runs_commands is None or runs_commands[1] not in safe


def test_toolsets_that_it_has_none_of_leave_it_without_tools(pod: EnginePod) -> None:
    pod.start(toolsets=[WITHOUT_TOOLS])
    pod.say("one")
    assert pod.model.turns()[-1].tools == set()


def test_every_provider_it_claims_is_driven_through_the_key_proxy(pod: EnginePod) -> None:
    assert set(expected(pod).paths) == pod.engine.providers
    pod.start()
    for provider, (model, path) in expected(pod).paths.items():
        pod.change(provider=provider, model=model)
        assert pod.say("hello", provider) == "pong", provider
        seen = pod.model.turns()[-1]
        assert (provider, seen.path, seen.model, seen.key) == (provider, path, model, REAL_KEY)


@pytest.mark.parametrize("mood", [Mood.UNAUTHORIZED, Mood.RATE_LIMITED, Mood.BROKEN])
def test_a_provider_that_refuses_is_the_models_failure(pod: EnginePod, mood: Mood) -> None:
    pod.start()
    pod.model.mood = mood
    started = time.monotonic()
    assert pod.failing_hop() == "model"
    assert time.monotonic() - started < 40
    pod.model.mood = Mood.FINE
    assert pod.say("again") == "pong"


def test_a_provider_that_is_not_there_is_the_models_failure(pod: EnginePod) -> None:
    pod.start()
    pod.model.stop()
    assert pod.failing_hop() == "model"


def test_a_caller_that_hangs_up_ends_the_model_call(pod: EnginePod) -> None:
    pod.start()
    pod.model.mood, pod.model.pause, pod.model.reply = Mood.SLOW, 0.3, "word " * 200
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    events = turn_calls.chat_events(endpoint, ACCESS, message="talk", session_id="talk")
    assert next(events) is None
    assert isinstance(next(events), Delta)
    events.close()
    eventually(lambda: pod.model.closed_early, within=10, what="the end of the model call")
    pod.model.mood, pod.model.reply = Mood.FINE, "pong"
    assert pod.say("again") == "pong"


def test_it_stops_within_twenty_seconds_in_the_middle_of_a_turn_and_leaves_no_child(pod: EnginePod) -> None:
    known = expected(pod)
    pod.start(toolsets=[known.deed[0]] if known.can_act else [])
    if known.exec:
        _, tool, argument = known.exec
        pod.model.tool_calls = [ToolCall(tool, {argument: f"{pod.python} -c '{LEAVE_SOMETHING}'"})]
        pod.say("leave something behind")
        assert "sleep" in pod.engine_programs()
    pod.model.mood = Mood.HANGING
    turns = len(pod.model.turns())
    with ThreadPoolExecutor() as callers:
        callers.submit(pod.failing_hop, "hang")
        eventually(lambda: len(pod.model.turns()) > turns, what="the hanging turn")
        started = time.monotonic()
        pod.runtime.stop(pod.namespace)
        pod.wait_for(Phase.STOPPED, within=20)
    assert time.monotonic() - started < pod.stop_seconds
    assert pod.engine_programs() == []


@pytest.mark.here
def test_key_and_tokens_are_nowhere_in_the_engines_processes_and_files(pod: EnginePod) -> None:
    known = expected(pod)
    pod.start(toolsets=[known.kept, *([known.deed[0]] if known.can_act else [])])
    if known.exec:
        _, tool, argument = known.exec
        pod.model.tool_calls = [ToolCall(tool, {argument: "env; cat /proc/self/environ /proc/*/cmdline; ps aux"})]
    pod.model.reply = f"I was called with {REAL_KEY}"  # a provider that repeats the key that it got
    pod.say("tell me all you know")
    secrets = [secret.encode() for secret in (REAL_KEY, MANAGEMENT_TOKEN, TICKET_KEY)]
    heard = str(pod.model.turns()[-1].body).encode()
    assert not [secret for secret in secrets if secret in heard]
    for process in pod.engine_processes():
        for name in ("environ", "cmdline", "maps"):
            seen = Path(f"/proc/{process.pid}/{name}").read_bytes()
            assert not [secret for secret in secrets if secret in seen]
    assert not files_with(secrets, pod.home)


def files_with(secrets: list[bytes], directory: Path) -> list[Path]:
    """The files with one of these. The search is made again if a running engine moved or removed a file meanwhile."""
    patience = Patience(60)
    while True:
        try:
            files = [path for path in directory.rglob("*") if path.is_file()]
            return [path for path in files if any(secret in path.read_bytes() for secret in secrets)]
        except FileNotFoundError:
            assert not patience.ended(), "the engine moves files all the time"


@pytest.mark.here
def test_key_and_tokens_are_not_in_the_memory_of_its_processes(pod: EnginePod) -> None:
    pod.start()
    pod.model.reply = f"I was called with {REAL_KEY}"
    pod.say("tell me all you know")
    secrets = [secret.encode() for secret in (REAL_KEY, MANAGEMENT_TOKEN, TICKET_KEY)]
    there = pod.namespace.encode()  # this is in the environment and proves that the search works
    found = [found_in_memory(process.pid, [*secrets, there]) for process in pod.engine_processes()]
    assert set().union(*found) == {there}


@pytest.mark.here
def test_it_speaks_to_nobody_but_the_key_proxy(pod: EnginePod) -> None:
    pod.start()
    pod.model.mood, pod.model.pause = Mood.SLOW, 0.2
    pod.say("hello")
    connections = [each for process in pod.engine_processes() for each in process.net_connections("inet")]
    peers = {each.raddr[0] for each in connections if len(each.raddr)}
    assert peers <= {"127.0.0.1"}


@pytest.mark.here
@pytest.mark.parametrize("name", list(PodProgram))
def test_a_killed_program_of_ours_is_replaced_and_the_conversation_goes_on(pod: EnginePod, name: PodProgram) -> None:
    pod.start()
    pod.say("one")
    pod.program(name).kill()
    eventually(lambda: not (pod.seen().phase == Phase.READY and pod.seen().gateway_alive), within=10, what="the loss")
    pod.runtime.deploy(pod.spec)
    pod.wait_ready()
    assert pod.say("two") == "pong"
    assert _said(pod) == ["one", "pong", "two"]
    assert len(pod.engines()) == expected(pod).processes


def test_it_fits_the_smallest_tier_it_is_offered_on(pod: EnginePod) -> None:
    pod.start()
    for session in ("a", "b", "c"):
        pod.say("hello", session)
    usage = pod.runtime.usage()[pod.namespace]
    assert usage.memory_bytes
    assert usage.memory_bytes < 0.85 * pod.spec.limits.memory_bytes


@pytest.mark.here
def test_no_process_of_it_is_a_zombie(pod: EnginePod) -> None:
    pod.start()
    for session in ("a", "b", "c", "d"):
        pod.say("hello", session)
    bridge = pod.program(PodProgram.BRIDGE)
    eventually(
        lambda: not [child for child in bridge.children() if child.status() == psutil.STATUS_ZOMBIE],
        within=5,
        what="no zombies",
    )


def _said(pod: EnginePod) -> list[str]:
    """The words of people and agent up to the last call of the model."""
    return expected(pod).said(pod.model.turns()[-1])
