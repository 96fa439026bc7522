"""Where a program reads its start document, and how older documents are read."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from agents.pod import start
from agents.pod.start import GatewayStart
from tests.agents.pod.gateway.process import document

MARKS = ["--namespace=pod-a-1", "--home=/run/agentpods"]


def test_a_program_starts_from_the_file_that_its_arguments_name(tmp_path: Path) -> None:
    (tmp_path / "start.json").write_bytes(b"{}")
    assert start.read("gateway", [f"--start={tmp_path / 'start.json'}", *MARKS]) == b"{}"


def test_without_a_file_the_document_is_on_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"{}")))
    monkeypatch.setattr(os, "dup2", lambda *_: None)  # here, stdin belongs to the test runner
    assert start.read("gateway", MARKS) == b"{}"


@pytest.mark.parametrize("word", ["--star=x", "--token=x", "x"])
def test_an_argument_that_nobody_knows_ends_the_program(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        start.read("gateway", [word])
    assert ended.value.code == 2
    assert "unrecognized" in capsys.readouterr().err


def test_a_document_that_does_not_speak_of_the_key_proxys_host_means_loopback() -> None:
    written = json.loads(document({}).dump())
    del written["llm_host"]
    assert GatewayStart.load(json.dumps(written)).llm_host == "127.0.0.1"
