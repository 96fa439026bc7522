"""The command `agentpods`: what it prints, asks and ends with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from agentpods.cli import signing_in
from agentpods.cli.output import plain
from agentpods.cli.signing_in import BrowserSignIn
from agentpods.errors import UnexpectedAnswerError
from agents.models import Agent
from tests.agents.conftest import PERSONA, GatewayOf, MakeAgent
from tests.agents.replay.conftest import entry, hand_over, stored
from tests.config.conftest import ROOT
from tests.doubles.receiver import Receiver, raw, status
from tests.pages.account.visitor import Visitor, shown
from tests.ports import free_port
from tests.sdk.conftest import Hostile, LiveService, Terminal, streamed

pytestmark = pytest.mark.unmeasured


def _allow_hosts(terminal: Terminal, agent: str) -> None:
    assert terminal.tells("egress", "only", agent, "example.com")[0]["allowList"] == "on"
    kept = terminal.tells("egress", "secret", agent, "TOKEN", "--host", "api.example.com", said="0123456789-secret")
    assert (kept[0]["header"], "0123456789" in str(kept)) == ("Authorization", False)
    assert [one["name"] for one in terminal.tells("egress", "show", agent)[0]["secrets"]] == ["TOKEN"]
    assert terminal.tells("egress", "log", agent) == []
    assert terminal.tells("egress", "rm", agent, "TOKEN") == [{"name": "TOKEN", "deleted": True}]
    assert terminal.tells("egress", "any", agent)[0]["allowList"] == "off"


@pytest.mark.django_db(transaction=True)
def test_an_agent_lives_its_life_from_a_script(
    service: LiveService, worker: None, receiver: Receiver, gateway_of: GatewayOf, tmp_path: Path
) -> None:
    terminal = Terminal(service.url, service.key, tmp_path)
    secret = tmp_path / "hook"
    hook = ("--webhook", receiver.url, "--secret-file", str(secret))
    (made,) = terminal.tells("create", PERSONA, "--name", "Ada", "--wait", "30", *hook)
    agent = made["id"]
    assert secret.read_text().startswith("whsec_")
    assert secret.stat().st_mode & 0o777 == 0o600
    assert terminal.tells("wait", agent) == [{**made, **terminal.tells("get", agent)[0]}]
    assert [one["id"] for one in terminal.tells("ls")] == [agent]

    gateway_of(Agent.objects.get(pk=agent))
    *_, done = terminal.tells("talk", agent, said="hi")
    assert (done["type"], done["reply"]) == ("done", "you said hi")
    assert terminal.types("talk", agent, "hi", "--session", done["sessionId"]).stdout == "you said hi\n"
    assert terminal.tells("explain", agent)[0]["status"] == "running"
    assert terminal.tells("webhooks", "test", agent)[0]["ok"]
    _allow_hosts(terminal, agent)
    assert terminal.tells("pause", agent, "--wait", "30")[0]["status"] == "stopped"
    assert terminal.types("wait", agent, "--timeout", "0").exit_code == 7
    assert terminal.tells("resume", agent, "--wait", "30")[0]["status"] == "running"

    assert terminal.types("delete", agent, "--json").exit_code == 2  # nobody can be asked
    assert terminal.tells("delete", agent, "--yes", "--wait", "30") == [{"id": agent, "deleted": True}]
    gone = terminal.types("get", agent, "--json")
    assert gone.exit_code == 4
    assert json.loads(gone.stderr)["error"] == "NOT_FOUND"
    assert terminal.types("pay", agent, "--with", "usdt").exit_code in {1, 4}
    assert PERSONA in {one["id"] for one in terminal.tells("personas")}


@pytest.mark.django_db(transaction=True)
def test_what_an_agent_did_is_told_in_lines_and_as_objects(
    service: LiveService, make_agent: MakeAgent, tmp_path: Path
) -> None:
    terminal, agent = Terminal(service.url, service.key, tmp_path), make_agent()
    stored(agent, 3, session="a")
    hand_over(agent, entry(kind="tool.call", tool="sea\x1b[31mrch", arguments='{"q": "\towls"}', session="b"))
    told = terminal.tells("replay", agent.pk)
    assert [one["kind"] for one in told] == ["turn.began", "tool.call", "turn.began", "turn.began"]
    assert "about" not in told[0]
    assert [one["session"] for one in terminal.tells("replay", agent.pk, "--kind", "tool.call")] == ["b"]
    assert len(terminal.tells("replay", agent.pk, "--session", "a", "--limit", "2")) == 2
    assert terminal.tells("replay", agent.pk, "--to", "2026-01-01T00:00:00Z") == []
    (line,) = terminal.types("replay", agent.pk, "--session", "b").stdout.splitlines()
    assert line.split("\t")[1:4] == ["tool.call", "chat", "b"]
    assert "search | " in line
    assert "\x1b" not in line
    assert terminal.types("replay", agent.pk, "--kind", "agent.deleted").exit_code == 1
    assert terminal.types("replay", "agt_000000000000000000000000").exit_code == 4


@pytest.mark.django_db(transaction=True)
def test_a_key_is_checked_stored_for_its_service_alone_and_forgotten(service: LiveService, tmp_path: Path) -> None:
    terminal = Terminal(service.url, "", tmp_path)
    assert terminal.types("login", said="ak_live_wrong").exit_code == 3
    assert terminal.types("ls").exit_code == 3
    done = terminal.types("login", said=f"{service.key}\n")
    assert done.exit_code == 0
    (kept,) = (tmp_path / ".config").rglob("credentials.json")
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert terminal.types("ls").exit_code == 0
    with Hostile().listening() as other:
        elsewhere = terminal.types("personas", AGENTPODS_URL=f"http://127.0.0.1:{other.port}")
        assert elsewhere.exit_code == 6
        assert other.received[0].header("Authorization") is None
    assert service.key not in done.output + elsewhere.output
    terminal.types("logout")
    assert terminal.types("ls").exit_code == 3
    kept.write_text("[no json")
    assert terminal.types("ls").exit_code == 3


@pytest.mark.parametrize("answer", ["allow", "deny"])
@pytest.mark.django_db(transaction=True)
def test_a_person_signs_in_with_a_browser(service: LiveService, owner: User, tmp_path: Path, answer: str) -> None:
    terminal = Terminal(service.url, "", tmp_path)
    command = [sys.executable, "-m", "agentpods.cli", "login", "--browser", "--json"]
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "sdk/python/src")}
    with subprocess.Popen(command, env={**kept, **terminal.environment}, stdout=subprocess.PIPE, text=True) as login:
        assert login.stdout is not None
        code = json.loads(login.stdout.readline())["userCode"]
        visitor, page = Visitor(owner), "/oauth/activate"
        asked = shown(visitor.send(visitor.open(page), page, user_code=code.lower().replace("-", " ")))
        shown(visitor.send(asked, page, answer=answer, may="read", days="7"))
        printed, _ = login.communicate(timeout=60)
    assert login.returncode == (0 if answer == "allow" else 1)
    assert ("ak_live_" in printed, terminal.types("ls").exit_code) == (False, 0 if answer == "allow" else 3)


DEVICE = {"device_code": "d", "user_code": "AAAA-BBBB", "verification_uri": "http://x", "expires_in": 60, "interval": 0}


def test_a_sign_in_outlives_a_service_that_is_away_for_a_moment(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signing_in, "SLOWER", 0.0)
    hostile.answers(status(200, body=json.dumps(DEVICE).encode()))
    with BrowserSignIn(f"http://127.0.0.1:{hostile.port}") as browser:
        given = browser.begin()
        away = (raw(b"SSH-2.0-OpenSSH\r\n"), status(502, body=b"<html>"), status(503, body=b"{}"))
        hostile.answers(*away, status(200, body=b'{"access_token": "ak_live_1"}'))
        assert browser.key(given) == "ak_live_1"


@pytest.mark.parametrize("wrong", ['"x"', "NaN", "1e400", "-1", "[]", "null", "1e9"])
def test_a_sign_in_does_not_wait_for_what_is_no_time(hostile: Hostile, wrong: str) -> None:
    told = json.dumps({**DEVICE, "interval": 5}).replace('"interval": 5', f'"interval": {wrong}')
    with BrowserSignIn(f"http://127.0.0.1:{hostile.port}") as browser:
        for body in (told.encode(), b"[" * 60_000):
            hostile.answers(status(200, body=body))
            with pytest.raises(UnexpectedAnswerError):
                browser.begin()


def test_what_an_agent_says_does_not_steer_the_terminal(hostile: Hostile, tmp_path: Path) -> None:
    assert plain("a\x1b[2Jb\u202ec\x9bd\ud800\r\n\te") == "a\ufffd[2Jb\ufffdc\ufffdd\ufffd\n\te"
    terminal = Terminal(f"http://127.0.0.1:{hostile.port}", hostile.key, tmp_path)
    steering = json.dumps({"text": "\x1b]0;owned\x07 \ud800 grüß"}).encode()
    done = b'event: done\ndata: {"reply": "x", "sessionId": "s"}\n\n'
    hostile.answers(raw(*streamed(b"event: delta\ndata: " + steering + b"\n\n", done)))
    shown = terminal.types("talk", "agt_1", "hi")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == "\ufffd]0;owned\ufffd \ufffd grüß\n"
    row = {"id": "exam-coach", "tagline": "kind\nfree-money\ttiny\r\nx"}
    hostile.answers(status(200, "Content-Type: application/json", body=json.dumps({"personas": [row]}).encode()))
    assert terminal.types("personas").stdout == "exam-coach\t-\t-\t-\tkind free-money tiny x\n"
    hostile.answers(raw(*streamed(b"event: delta\ndata: " + steering + b"\n\n", done)))
    assert all(line.isascii() for line in terminal.types("talk", "agt_1", "hi", "--json").stdout.splitlines())


def test_secrets_are_hidden_unless_they_are_asked_for(hostile: Hostile, tmp_path: Path) -> None:
    terminal = Terminal(f"http://127.0.0.1:{hostile.port}", hostile.key, tmp_path)
    agent: dict[str, Any] = {"id": "agt_1", "dashPassword": "hush", "a2aToken": None}
    server = {"name": "notes", "headers": {"Authorization": "hush"}, "env": {"TOKEN": "hush"}}
    agent["tools"] = {"secret": "hush", "mcpServers": [server]}
    hostile.answers(status(200, "Content-Type: application/json", body=json.dumps({"agent": agent}).encode()))
    assert "hush" not in terminal.types("get", "agt_1").output + terminal.types("get", "agt_1", "--json").output
    assert terminal.tells("get", "agt_1", "--show-secrets") == [agent]
    hostile.answers(status(401, body=json.dumps({"error": "UNAUTHORIZED", "message": hostile.key}).encode()))
    refused = terminal.types("get", "agt_1")
    assert (refused.exit_code, hostile.key in refused.output) == (3, False)


def test_a_secret_that_cannot_be_kept_is_not_made(hostile: Hostile, tmp_path: Path) -> None:
    terminal = Terminal(f"http://127.0.0.1:{hostile.port}", hostile.key, tmp_path)
    hook = ("https://x.example", "--secret-file", "/proc/self/hook")  # not even root makes files there
    assert terminal.types("webhooks", "set", "agt_1", *hook).exit_code == 1
    assert terminal.types("create", "exam-coach", "--webhook", *hook).exit_code == 1
    assert hostile.received == []


def test_odd_options_end_with_a_code(hostile: Hostile, tmp_path: Path) -> None:
    terminal = Terminal(f"http://127.0.0.1:{hostile.port}", hostile.key, tmp_path)
    agent = json.dumps({"agent": {"id": "agt_1", "status": "running"}}).encode()
    hostile.answers(status(200, "Content-Type: application/json", body=agent))
    assert terminal.types("wait", "agt_1", "--timeout", "inf").exit_code == 0
    assert terminal.types("--url", "http://127.0.0.1:99999", "get", "agt_1", "--json").exit_code == 1


def test_the_program_ends_with_a_code_and_without_a_traceback(tmp_path: Path) -> None:
    terminal = Terminal(f"http://127.0.0.1:{free_port()}", "ak_live_x", tmp_path)
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "sdk" / "python" / "src"), "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "agentpods.cli", "personas"]
    environment = kept | terminal.environment | {"LC_ALL": "C"}
    personas = json.dumps({"personas": [{"id": "exam-coach"}] * 9}).encode()
    with Hostile().listening() as service:
        service.answers(status(200, "Content-Type: application/json", body=personas))
        there = environment | {"AGENTPODS_URL": f"http://127.0.0.1:{service.port}"}
        with subprocess.Popen(command, env=there, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as piped:
            assert piped.stdout
            assert piped.stderr
            piped.stdout.close()  # as `head` does when it has enough
            assert (piped.wait(120), piped.stderr.read()) == (0, b"")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr == "agentpods: GET /personas: ConnectError\n"
