"""The process of which gateways and bridges are copies (tests/agents/runtimes/local/test_template.py: as pods)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from agents.runtimes.local.template import MODULE, Template
from tests.agents.pod.bridge.process import ROOT, eventually


@pytest.fixture
def template() -> Template:
    return Template()


def copy(template: Template, program: str, log: Path, *, document: bytes = b"{}", namespace: str = "pod-a-1") -> bool:
    module, arguments = f"agents.pod.{program}", [f"--namespace={namespace}"]
    reading, writing = os.pipe()
    os.write(writing, document)
    os.close(writing)
    with os.fdopen(reading, "rb") as stdin, log.open("ab") as output:
        return template.copy(module, arguments, dict(os.environ), {}, [stdin.fileno(), output.fileno()])


def test_each_copy_is_its_own_program_with_its_own_document(template: Template, tmp_path: Path) -> None:
    log, given = tmp_path / "log", {"gateway": b"{}", "bridge": b"no JSON"}
    for program, document in given.items():
        assert copy(template, program, log, document=document)
    eventually(lambda: len(log.read_text().splitlines()) == len(given), within=20, what="the words of both")
    assert set(log.read_text().splitlines()) == {
        "gateway: unusable start document (KeyError)",
        "bridge: unusable start document (JSONDecodeError)",
    }


def test_there_is_no_copy_whose_arguments_have_no_room_and_the_next_one_is_made(
    template: Template, tmp_path: Path
) -> None:
    assert not copy(template, "gateway", tmp_path / "log", namespace="x" * 5000)
    assert "do not fit" in (tmp_path / "log").read_text()
    assert copy(template, "gateway", tmp_path / "log")


def test_the_template_ends_when_its_worker_is_gone() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen([sys.executable, "-m", MODULE], stdin=theirs.fileno(), cwd=ROOT)
    ours.close()
    assert process.wait(20) == 0
