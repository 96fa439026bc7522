"""The tutorial of the API, as a reader does it: each command of each tab, in order, against a running service."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from accounts.models import ApiKey
from agents.models import Agent
from tests.agents.conftest import GatewayOf
from tests.config.conftest import ROOT
from tests.sdk.conftest import LiveService

pytestmark = [pytest.mark.sampled, pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]

PAGE = ROOT / "docs" / "tutorials" / "first-agent-by-api.md"
TAB = re.compile(r'^=== "(?P<tab>[^"]+)"\n\n(?P<code>(?:    .*\n|\n)+)', re.MULTILINE)
FENCED = re.compile(r"\A```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLS = "pip install"  # needs a package registry
SECONDS = 120
END = "-- the block has ended --"


def blocks(tab: str) -> list[str]:
    """The code of a tab, step by step."""
    pieces = [textwrap.dedent(one["code"]) for one in TAB.finditer(PAGE.read_text()) if one["tab"] == tab]
    codes = [found[1] for piece in pieces if (found := FENCED.match(piece))]
    assert len(codes) == len(pieces) >= 10, "a tab has one block"
    return [code for code in codes if INSTALLS not in code]


class PodStarter:
    """Gives each agent that runs a pod that answers."""

    def __init__(self, gateway_of: GatewayOf) -> None:
        self._gateway_of, self._started = gateway_of, set[str]()

    def start(self) -> None:
        for agent in Agent.objects.live().exclude(pk__in=self._started):
            self._started.add(agent.pk)
            deadline = time.monotonic() + SECONDS
            while Agent.objects.get(pk=agent.pk).status != "running" and time.monotonic() < deadline:
                time.sleep(0.05)
            self._gateway_of(Agent.objects.get(pk=agent.pk))


@pytest.fixture
def starter(gateway_of: GatewayOf, settings: Any) -> PodStarter:
    settings.SHOW_DEV_CODES = True
    return PodStarter(gateway_of)


@contextmanager
def shell(environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[str]]:
    with (
        log.open("w") as errors,
        subprocess.Popen(
            ["bash", "-eu"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as typed,
    ):
        yield typed
        typed.kill()


def said(typed: subprocess.Popen[str], block: str) -> str:
    """What a block prints. Nobody types into its programs."""
    assert typed.stdin
    assert typed.stdout
    typed.stdin.write(f"{{ {block}\n}} </dev/null\necho '{END}'\n")
    typed.stdin.flush()
    lines: list[str] = []
    for line in typed.stdout:
        if line.strip() == END:
            return "".join(lines)
        lines.append(line)
    raise AssertionError(f"{block} ended the shell")


@pytest.mark.parametrize("tab", ["curl", "agentpods"])
def test_a_reader_goes_through_it_in_a_shell(
    service: LiveService, worker: None, starter: PodStarter, tmp_path: Path, tab: str
) -> None:
    command = tmp_path / "bin" / "agentpods"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agentpods.cli "$@"\n')
    command.chmod(0o755)
    environment = {"PATH": f"{command.parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "COLUMNS": "200"}
    environment |= {"PYTHONPATH": str(ROOT / "sdk/python/src"), "PORT": str(urlsplit(service.url).port)}
    environment |= {"OPENAI_API_KEY": "sk-of-the-reader-0123456789"}
    if tab == "agentpods":
        environment |= {"AGENTPODS_API_KEY": service.key}  # where nobody can be asked, `login` takes the key from there
    told, log = [], tmp_path / "errors"
    with shell(environment, log) as typed:
        for block in blocks(tab):
            try:
                told.append(said(typed, block))
            except AssertionError as error:
                raise AssertionError(f"{error}: {log.read_text()[-2000:]}") from error
            starter.start()
    _went_well("\n".join(told))


def test_a_reader_goes_through_it_in_python(
    service: LiveService,
    worker: None,
    starter: PodStarter,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PORT", str(urlsplit(service.url).port))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-reader-0123456789")
    names: dict[str, Any] = {}
    for block in blocks("Python"):
        exec(compile(block, str(PAGE), "exec"), names)  # it is our own page
        starter.start()
    _went_well(capsys.readouterr().out)
    for client in ("nobody", "session", "pods"):
        names[client].close()
    assert ApiKey.objects.filter(name="tutorial", revoked_at=None).count() == 1


def _went_well(told: str) -> None:
    """Each step has said what the next one needs."""
    assert "Exam Coach" in told or "graceDays" in told
    assert "agt_" in told
    assert "you said What do plants do with light?" in told
    assert "And at night?" in told
    assert "usdPerDay" in told
    assert "agent.running" in told
    assert not Agent.objects.live().exists()
