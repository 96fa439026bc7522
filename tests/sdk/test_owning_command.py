"""The command `agentpods` for who hosts an agent: costs and limits, keys, the model key, events, settings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts import sessions
from accounts.models import ApiKey, User
from agentpods.cli import asking
from agents.models import Agent, ModelUsage
from tests.agents.conftest import MakeAgent
from tests.config.conftest import ROOT
from tests.doubles.receiver import raw, status
from tests.sdk.conftest import Hostile, LiveService, Terminal, streamed
from webhooks import events
from webhooks.event_types import EventType

pytestmark = pytest.mark.unmeasured

JSON = "Content-Type: application/json"


@pytest.fixture
def terminal(service: LiveService, tmp_path: Path) -> Terminal:
    return Terminal(service.url, service.key, tmp_path)


@pytest.fixture
def signed_in(owner: User) -> str:
    """A session token of the owner's."""
    return sessions.start(owner, attribution=None, now=timezone.now())[1]


@pytest.mark.django_db(transaction=True)
def test_what_an_agent_spent_is_told_by_day_model_and_conversation(terminal: Terminal, make_agent: MakeAgent) -> None:
    agent = make_agent()
    spent = {"agent": agent, "kind": "chat", "calls": 2, "input": 10, "output": 5, "day": timezone.now().date()}
    ModelUsage.objects.create(model="openai:a", session="s1\x1b[2J", usd=Decimal("1.25"), **spent)
    ModelUsage.objects.create(model="openai:b", session="s2", usd=Decimal(0), unpriced=2, **spent)
    (told,) = terminal.tells("usage", agent.pk, "--by", "model")
    assert {row["model"]: row["usd"] for row in told["rows"]} == {"openai:a": 1.25, "openai:b": None}
    assert told["total"]["inputTokens"] == 20
    shown = terminal.types("usage", agent.pk, "--by", "session")
    assert "\x1b" not in shown.stdout
    assert "chat\ts2\t2\t10\t5\t-" in shown.stdout.splitlines()
    assert "4 calls, 1.250000 USD, 2 without a price" in shown.stderr
    assert terminal.types("usage", agent.pk, "--by", "hour").exit_code == 2
    assert terminal.types("usage", agent.pk, "--from", "yesterday").exit_code == 1


@pytest.mark.django_db(transaction=True)
def test_a_limit_is_set_beside_the_others_and_taken_away(terminal: Terminal, make_agent: MakeAgent) -> None:
    agent = make_agent().pk
    assert terminal.tells("limits", "set", agent, "--usd-per-day", "2.5", "--tokens-per-turn", "9000")
    (told,) = terminal.tells("limits", "set", agent, "--usd-per-day", "none", "--stop")
    assert told == terminal.tells("limits", "show", agent)[0]
    assert (told["usdPerDay"], told["tokensPerTurn"], told["stopped"]) == (None, 9000, True)
    assert terminal.tells("limits", "set", "--account", "--usd-per-month", "30")[0]["usdPerMonth"] == 30
    for wrong in (
        (),
        (agent, "--account"),
        (agent,),
        (agent, "--usd-per-day", "much"),
        (agent, "--usd-per-day", "5_0"),
        (agent, "--usd-per-day", "nan"),
        (agent, "--usd-per-day", "\u0665"),  # a five in Arabic digits
        (agent, "--tokens-per-turn", "9_000"),
        ("--account", "--tokens-per-turn", "1"),
    ):
        refused = terminal.types("limits", "set", *wrong, "--json")
        assert (refused.exit_code, json.loads(refused.stderr)["error"]) == (2, "CLIENT")
    assert terminal.types("limits", "set", agent, "--usd-per-day", "-1").exit_code == 1


@pytest.mark.django_db(transaction=True)
def test_keys_are_made_limited_and_ended_by_who_signed_in_alone(
    terminal: Terminal, signed_in: str, tmp_path: Path, make_agent: MakeAgent
) -> None:
    kept, agent = tmp_path / "key", make_agent().pk
    limits = ("--scope", "read", "--scope", "operate", "--agent", agent, "--expires", "30d", "--usd-per-day", "2")
    words = ("keys", "create", "driver", "--secret-file", str(kept), *limits)
    refused = terminal.types(*words, "--json")
    assert (refused.exit_code, "AGENTPODS_SESSION" in refused.stderr, kept.exists()) == (3, True, False)

    for odd in ("5_0", "nan", "inf"):  # the later one of two counts
        assert terminal.types(*words, "--usd-per-day", odd, AGENTPODS_SESSION=signed_in).exit_code == 2
    made = terminal.types(*words, "--json", AGENTPODS_SESSION=signed_in)
    assert made.exit_code == 0, made.output
    key = json.loads(made.stdout)["id"]
    assert kept.read_text().startswith("ak_live_")
    assert (kept.stat().st_mode & 0o777, kept.read_text().strip() in made.output) == (0o600, False)
    listed = {one["id"]: one for one in terminal.tells("keys", "ls")}[key]
    assert (listed["scopes"], listed["agentId"], listed["usdPerDay"]) == (["read", "operate"], agent, 2)
    ends = ApiKey.objects.get(pk=key).expires_at
    assert ends is not None
    left = ends - timezone.now()
    assert timedelta(days=29) < left <= timedelta(days=30)

    change = ("limits", "set", "--key", key, "--usd-per-month", "40")
    assert terminal.types(*change).exit_code == 3
    told = json.loads(terminal.types(*change, "--json", AGENTPODS_SESSION=signed_in).stdout)
    assert (told["usdPerDay"], told["usdPerMonth"], told["usdToday"]) == (2, 40, 0)
    assert (
        terminal.types("keys", "revoke", key, "--json", AGENTPODS_API_KEY=signed_in).exit_code == 2
    )  # cannot be asked
    assert terminal.types("keys", "revoke", key, "--yes", AGENTPODS_API_KEY=signed_in).exit_code == 0
    assert terminal.types("ls", AGENTPODS_API_KEY=kept.read_text()).exit_code == 3
    assert terminal.types(*words, AGENTPODS_SESSION=signed_in).exit_code == 2  # the file is there


def test_a_person_in_a_terminal_is_mailed_a_code_and_signed_out_again(
    hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "may_ask", lambda _: True)
    terminal = Terminal(f"http://127.0.0.1:{hostile.port}", hostile.key, tmp_path)
    user = {"id": "usr_1", "email": "ann@example.com"}
    told = [{"user": user}, {"ok": True}, {"token": "st_live_1", "user": user}]
    refusal = status(409, JSON, body=b'{"error": "CONFLICT", "message": "no"}')
    hostile.answers(*(status(200, JSON, body=json.dumps(one).encode()) for one in told), refusal, status(204))
    done = terminal.types("keys", "revoke", "key_1", "--yes", said="y\n012345\n")
    assert done.exit_code == 5, done.output
    calls = [(one.path, one.header("Authorization")) for one in hostile.received]
    by_key, by_session = f"Bearer {hostile.key}", "Bearer st_live_1"
    assert calls == [
        ("/me", by_key),
        ("/auth/request", by_key),
        ("/auth/verify", by_key),
        ("/keys/key_1", by_session),
        ("/auth/logout", by_session),  # although the call was refused
    ]
    assert "st_live_1" not in done.output


@pytest.mark.django_db(transaction=True)
def test_the_model_key_is_installed_chosen_and_removed(terminal: Terminal, make_agent: MakeAgent) -> None:
    agent = make_agent().pk
    done = terminal.types("llm", "key", agent, "openai", "--json", AGENTPODS_LLM_KEY="sk-never-shown-0123456789abcdef")
    assert done.exit_code == 0, done.output
    assert "sk-never" not in done.output
    assert json.loads(done.stdout)["llmProvider"] == "openai"
    model = terminal.tells("llm", "models", "--provider", "openai")[0]["id"]
    assert terminal.tells("llm", "model", agent, model)[0]["model"] == model
    assert terminal.tells("llm", "model", agent, "default")[0]["model"] is None
    assert terminal.types("llm", "key", agent, "openai").exit_code == 2  # no key came
    assert terminal.types("llm", "rm", agent).exit_code == 2
    assert terminal.tells("llm", "rm", agent, "--yes")
    assert terminal.tells("get", agent)[0]["llmProvider"] is None
    assert "anthropic" in {one["id"] for one in terminal.tells("llm", "providers")}


@pytest.mark.django_db(transaction=True)
def test_settings_and_catalog(terminal: Terminal, make_agent: MakeAgent, tmp_path: Path) -> None:
    agent, soul = make_agent().pk, tmp_path / "soul.md"
    soul.write_text("Speak of owls.")
    assert terminal.tells("update", agent, "--name", "Bo", "--extra-soul", str(soul))[0]["name"] == "Bo"
    assert Agent.objects.get(pk=agent).extra_soul == "Speak of owls."
    assert terminal.types("update", agent).exit_code == 2
    assert "tiny" in {one["id"] for one in terminal.tells("plans")}
    assert {one["id"] for one in terminal.tells("engines")} >= {"pi", "hermes"}
    assert terminal.tells("term", agent)
    assert terminal.tells("quota", agent)


@pytest.mark.django_db(transaction=True)
def test_any_other_call_can_be_made(terminal: Terminal, make_agent: MakeAgent) -> None:
    agent = make_agent().pk
    assert terminal.tells("api", "get", "/agents?limit=5")[0]["agents"][0]["id"] == agent
    (told,) = terminal.tells("api", "PATCH", f"/agents/{agent}", "--body", "-", said='{"name": "Cy"}')
    assert told["agent"]["name"] == "Cy"
    assert told["agent"]["dashPassword"] in {None, "[hidden]"}
    for wrong in ("@evil.example/", "agents", "/a b", "/\r\nX: y", "https://evil.example/"):
        assert terminal.types("api", "GET", wrong).exit_code == 1
    assert terminal.types("api", "PUT", "/me/limits", "--body", "-", said="[" * 99_999).exit_code == 2
    assert terminal.types("api", "GET", "/nothing").exit_code == 4


@pytest.mark.django_db(transaction=True)
def test_events_of_one_agent_and_of_all(terminal: Terminal, make_agent: MakeAgent) -> None:
    first, second = make_agent(name="A"), make_agent(name="B")
    for agent in (first, second, first):
        events.emit(agent, EventType.TEST, {}, now=timezone.now())
    assert [one["agent"]["id"] for one in terminal.tells("events", first.pk)] == [first.pk] * 2
    told = terminal.tells("events")
    assert {one["agent"]["id"] for one in told} == {first.pk, second.pk}
    assert len(terminal.tells("events", "--after", told[0]["id"])) == len(told) - 1
    assert terminal.types("events", "--after", "evt_nothing").exit_code == 1


def _event(number: int, name: str = "A") -> bytes:
    told = {
        "id": f"evt_{number}",
        "type": "test",
        "createdAt": "now",
        "agent": {"id": "agt_1", "name": name},
        "data": {},
    }
    return f"id: evt_{number}\nevent: test\ndata: {json.dumps(told)}\n\n".encode()


def test_events_are_followed_over_a_broken_connection(hostile: Hostile, tmp_path: Path) -> None:
    terminal = Terminal(f"http://127.0.0.1:{hostile.port}", hostile.key, tmp_path)
    end = b'event: end\ndata: {"message": "the agent is deleted"}\n\n'
    hostile.answers(raw(*streamed(_event(1), b"event: te")), status(503), raw(*streamed(_event(2), end)))
    told = terminal.tells("events", "agt_1", "-f", "--after", "evt_0")
    assert [one.get("id", one["type"]) for one in told] == ["evt_1", "evt_2", "end"]
    assert [one.header("Last-Event-ID") for one in hostile.received] == ["evt_0", "evt_1", "evt_1"]
    hostile.answers(raw(*streamed(_event(3, "a\x1b[2J\n\tb"), end)))
    assert terminal.types("events", "-f").stdout == "now\ttest\tagt_1\ta\ufffd[2J  b\tevt_3\n"
    for broken in (
        b"data: {no\n\n",
        b"data: []\n\n",
        b"data: " + b"[" * 90_000 + b"\n\n",
        b"data:" + b"x" * 17_000_000,
    ):
        hostile.answers(raw(*streamed(broken)))
        assert terminal.types("events", "-f", "--json").exit_code == 6


ODD: list[Any] = [{}, [], None, "x", {"limits": None}, {"usage": []}, {"keys": 5}, {"events": [7]}, {"memory": {}}]


@pytest.mark.parametrize("command", ["usage agt_1", "limits show agt_1", "memory agt_1", "keys ls", "events", "plans"])
def test_an_answer_of_another_shape_ends_with_a_code(hostile: Hostile, tmp_path: Path, command: str) -> None:
    terminal = Terminal(f"http://127.0.0.1:{hostile.port}", hostile.key, tmp_path)
    for odd in ODD:
        hostile.answers(status(200, JSON, body=json.dumps(odd).encode()))
        done = terminal.types(*command.split(), "--json")
        assert done.exit_code == 6, (odd, done.output)
        assert json.loads(done.stderr)["error"] == "CLIENT"


@pytest.mark.parametrize(
    "body", [b'{"limits": {"usdPerDay": NaN}}', b'{"limits": ' + b'{"a":' * 900 + b"1" + b"}" * 901, b"1" * 9_000]
)
def test_what_is_no_json_or_too_deep_is_no_line_of_output(hostile: Hostile, tmp_path: Path, body: bytes) -> None:
    terminal = Terminal(f"http://127.0.0.1:{hostile.port}", hostile.key, tmp_path)
    hostile.answers(status(200, JSON, body=body))
    done = terminal.types("limits", "show", "agt_1", "--json")
    assert (done.exit_code, done.stdout) == (6, "")


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Programs begun here take Ctrl-C. They inherit it as ignored if the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_and_a_closed_pipe_end_a_followed_stream_without_a_traceback(hostile: Hostile, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "sdk" / "python" / "src")}
    environment |= Terminal(f"http://127.0.0.1:{hostile.port}", hostile.key, tmp_path).environment
    command = [sys.executable, "-m", "agentpods.cli", "events", "-f", "--json"]
    hostile.answers(raw(*streamed(_event(1)), *[b": still here\n\n"] * 10_000, pause=0.02))
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as following:
        assert following.stdout
        assert following.stderr
        assert json.loads(following.stdout.readline())["id"] == "evt_1"
        following.send_signal(signal.SIGINT)
        assert (following.wait(60), following.stderr.read()) == (130, b"")
    hostile.answers(raw(*streamed(), *[_event(1)] * 10_000, pause=0.02))
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as piped:
        assert piped.stdout
        assert piped.stderr
        piped.stdout.readline()
        piped.stdout.close()
        assert (piped.wait(60), piped.stderr.read()) == (0, b"")
