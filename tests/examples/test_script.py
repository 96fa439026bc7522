"""The script of docs/how-to/talk-from-a-script.md, in the shells that people have."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.config.conftest import ROOT, MakeRun, Run
from tests.doubles.model_server import ModelServer

pytestmark = pytest.mark.unmeasured


PAGE = ROOT / "docs" / "how-to" / "talk-from-a-script.md"
LINES = re.findall(r"```sh\n(API=.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
SHELLS = [shell for shell in ("bash", "dash", "zsh") if shutil.which(shell)]


def talk(shell: str, port: int, **more: str) -> subprocess.CompletedProcess[str]:
    """Type the commands into a shell; `still here` shows that the shell itself did not end."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME"}}
    command = [shell, "-c", f'{LINES}\necho "status $?, still here"']
    return subprocess.run(
        command, env=kept | {"PORT": str(port)} | more, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_where_nothing_runs_the_first_line_says_so_and_is_the_last(shell: str, closed_port: int) -> None:
    done = talk(shell, closed_port)
    assert "status 1, still here" in done.stdout
    assert "no devCode in the answer: None" in done.stderr
    assert done.stderr.count("curl:") == 1


@pytest.mark.django_db(transaction=True)
def test_a_step_that_is_refused_says_why_and_is_the_last(live_server: LiveServer, settings: Settings) -> None:
    settings.CREATES_OPEN = False
    done = talk(SHELLS[0], live_server.thread.port)
    assert "status 1, still here" in done.stdout
    assert done.stderr.startswith("no agent.id in the answer: {")
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as model:
        yield model


@pytest.fixture
def service(make_run: MakeRun, model: ModelServer) -> Run:
    run = make_run(ENGINE_CACHE=str(ROOT / "var" / "engines"), LLM_BASE_URLS=f"openai={model.base_url('openai')}")
    run.start()
    return run


@pytest.mark.engines
def test_without_a_key_the_agent_answers_with_an_empty_reply(service: Run) -> None:
    for shell in SHELLS:
        done = talk(shell, service.port)
        assert done.stdout == "\nstatus 0, still here\n", done.stderr


@pytest.mark.engines
def test_with_a_key_the_agent_says_what_the_model_says(service: Run, model: ModelServer) -> None:
    model.reply = "They make sugar."
    for shell in SHELLS:
        done = talk(shell, service.port, OPENAI_API_KEY="sk-of-the-readme")
        assert done.stdout == "They make sugar.\nstatus 0, still here\n", done.stderr


@pytest.mark.engines
def test_a_key_that_the_provider_refuses_is_told_and_no_agent_is_made(service: Run, model: ModelServer) -> None:
    model.key = "another"
    done = talk(SHELLS[0], service.port, OPENAI_API_KEY="sk-of-the-readme")
    assert "status 1, still here" in done.stdout
    assert "llmKey" in done.stderr
