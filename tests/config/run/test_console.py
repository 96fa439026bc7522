"""`make run` prints problems within seconds, and does not flood its terminal."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from config.run.console import MOST_LINES, ProgramPrinter


def printed(text: str, *, program: str = "web", channel: str = "stdout", log: str | None = "web.log") -> Any:
    """An event of supervisord."""
    config = SimpleNamespace(name=program, stdout_logfile=log, stderr_logfile=None)
    return SimpleNamespace(process=SimpleNamespace(config=config), data=text, channel=channel)


def test_a_line_of_trouble_is_told_and_others_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    console = ProgramPrinter()
    console.hear(printed("INFO a: fine\nERROR b: bro"))
    console.hear(printed("ken\nWARNING django.request: Not Found: /x\nWARNING c: odd\n"))
    assert capsys.readouterr() == ("", "web: ERROR b: broken\nweb: WARNING c: odd\n")


def test_what_is_for_people_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    console = ProgramPrinter()
    console.hear(printed("Subject: Your code", program="worker", log=None))
    console.hear(printed("ERROR a: broken\n", program="worker", channel="stderr", log=None))
    assert capsys.readouterr() == ("Subject: Your code", "worker: ERROR a: broken\n")


def test_a_trouble_that_repeats_is_told_once_a_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    console = ProgramPrinter()
    for number in range(100):
        console.hear(printed(f"ERROR a: evt_{number} of agt_x{number} failed\n"))
    assert capsys.readouterr().err == "web: ERROR a: evt_0 of agt_x0 failed\n"
    now += 61
    console.hear(printed("ERROR a: evt_7 of agt_x7 failed\n"))
    assert capsys.readouterr().err == "web: ERROR a: evt_7 of agt_x7 failed\n"


def test_no_program_takes_the_terminal_for_itself(capsys: pytest.CaptureFixture[str]) -> None:
    console = ProgramPrinter()
    letters = "abcdefghijklmnopqrstuvwxyz"
    for first in letters:
        for second in letters:
            console.hear(printed(f"ERROR a: {first}{second} {'x' * 10_000}\n"))
    console.hear(printed("ERROR a: another\n", program="router"))
    told = capsys.readouterr().err.splitlines()
    assert len(told) == MOST_LINES + 1
    assert max(map(len, told)) < 400
    assert told[-1] == "router: ERROR a: another"
