"""The combined coverage report of test processes, forks and programs (tests/coverage_plugin.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import coverage_plugin
from tests.coverage_marks import compile_marked

FILE = "webhooks/signing.py"
SIGNED = "signing.headers(event_id='', event_type='', body=b'', secret='', previous_secret={})"
MEASURED = """
from tests import coverage_plugin
recorder = coverage_plugin.begin()
from webhooks import signing
{}
coverage_plugin.leave(recorder, {!r})
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
    monkeypatch.setenv("COVERAGE_TO", str(tmp_path))
    return tmp_path


def run(program: str, **environment: str) -> None:
    subprocess.run(
        [sys.executable, "-c", program], cwd=coverage_plugin.ROOT, env={**os.environ, **environment}, check=True
    )


def line(text: str) -> int:
    """The number of the line with this text."""
    lines = (coverage_plugin.ROOT / FILE).read_text(encoding="utf-8").splitlines()
    (number,) = (number for number, found in enumerate(lines, 1) if text in found)
    return number


@pytest.mark.parametrize("compiled", [["webhooks"], []], ids=["compiled once", "compiled by each"])
def test_what_a_copy_or_a_program_has_run_is_not_missing(seen: Path, compiled: list[str]) -> None:
    compile_marked(compiled, seen / "marked")
    programs = coverage_plugin.of_programs()
    run(MEASURED.format("", "gw1"))
    run(MEASURED.format("signing.signature(b'', '')", "copy-1"))
    run(f"from webhooks import signing; {SIGNED.format(None)}", COVERAGE_PROCESS_CONFIG=programs.config.serialize())
    programs.combine()
    file = coverage_plugin.whole(seen, programs.get_data())["files"][FILE]
    with_two_secrets, answer = line("signed["), line("return signed")
    assert file["missing_lines"] == [with_two_secrets]
    assert file["missing_branches"] == [[line("if previous"), with_two_secrets]]
    assert file["executed_branches"] == [[line("if previous"), answer]]


def test_a_file_that_nothing_imports_is_missing_whole(seen: Path) -> None:
    run(MEASURED.format("", "gw0").replace("begin()", "begin(lists_all=True)"))
    files = coverage_plugin.whole(seen, coverage_plugin.of_programs().get_data())["files"]
    assert not files["billing/renewal.py"]["executed_lines"]
    assert len(files["billing/renewal.py"]["missing_lines"]) > 10
