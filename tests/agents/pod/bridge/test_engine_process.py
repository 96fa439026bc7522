"""How long an engine may take to start: as long as it declares, or a minute if it declares nothing."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from agents.engines import ENGINES, base
from agents.engines.base import Engine, EngineError, Launch
from agents.pod.bridge import engine_process
from agents.pod.bridge.engine_process import EngineProcess
from agents.pod.bridge.log import EngineLog
from tests.doubles.engine import PartsEngine

END_SECONDS = 20  # on a busy machine, a process may need a moment to end


class SlowEngine(PartsEngine):
    """An engine that answers after `takes` seconds."""

    def __init__(self, takes: float) -> None:
        super().__init__()
        self.takes = takes

    async def settle(self) -> None:
        await asyncio.sleep(self.takes)


class Declared(SlowEngine):
    def __init__(self, takes: float, *, start_seconds: float) -> None:
        super().__init__(takes)
        self.start_seconds = start_seconds


LIVES = (sys.executable, "-c", "import time; time.sleep(600)")


def start(engine: PartsEngine, directory: Path, *, runs: tuple[str, ...] = LIVES, log: EngineLog | None = None) -> None:
    launch = Launch(files={}, directories=(), argv=runs, env={}, cwd=directory, model=None)

    async def once() -> None:
        started = await EngineProcess.start(
            cast("Engine", engine), launch, None, generation=1, marks={}, log=log or EngineLog()
        )
        await started.stop()

    asyncio.run(once())


def test_an_engine_is_ended_when_its_declared_time_is_over(tmp_path: Path) -> None:
    before = {child.pid for child in psutil.Process().children()}
    with pytest.raises(EngineError, match=r"^the engine did not start within 0\.2 s$"):
        start(Declared(takes=30, start_seconds=0.2), tmp_path)
    left = [child for child in psutil.Process().children() if child.pid not in before]
    assert psutil.wait_procs(left, timeout=END_SECONDS)[1] == []


def test_an_engine_that_ends_as_soon_as_it_is_started_is_dead_and_its_last_words_are_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn, log = engine_process._spawn, EngineLog()

    async def ended(*given: Any) -> asyncio.subprocess.Process:
        process = await spawn(*given)
        await process.wait()  # as on a machine that is so slow that the end is known first
        return process

    monkeypatch.setattr(engine_process, "_spawn", ended)
    with pytest.raises(EngineError, match=r"^the engine ended as soon as it was started$"):
        start(PartsEngine(), tmp_path, runs=("/bin/sh", "-c", "echo no such option >&2"), log=log)
    assert log.evidence == ["no such option"]


def test_an_engine_that_declares_more_than_the_usual_time_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "START_SECONDS", 0.2)
    start(Declared(takes=0.6, start_seconds=20.0), tmp_path)


class Laborious(PartsEngine):
    """An engine that needs `works` seconds of CPU before it answers. It declares one second."""

    start_seconds = 1.0

    def __init__(self, works: float) -> None:
        super().__init__()
        self.works = works

    def attach(self, process: asyncio.subprocess.Process, _: Launch, /) -> PartsEngine:
        self.process = psutil.Process(process.pid)
        return self

    async def settle(self) -> None:
        while self.process.cpu_times().user < self.works:  # noqa: ASYNC110 # there is no event to wait for
            await asyncio.sleep(0.05)


@contextmanager
def nine_others_on_its_cpu() -> Iterator[tuple[str, ...]]:
    """Nine processes that use the same CPU as the engine, so that each gets a tenth of it. Gives their command."""
    spins = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\nwhile True: pass"
    busy = (sys.executable, "-S", "-c", spins)
    others = [subprocess.Popen(busy) for _ in range(9)]
    try:
        yield busy
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_a_start_may_take_as_long_as_it_is_given_no_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise an engine would never start on a busy machine."""
    with nine_others_on_its_cpu() as busy:
        monkeypatch.setattr(engine_process, "LONGEST_START", 100)
        start(Laborious(works=0.4), tmp_path, runs=busy)
        monkeypatch.setattr(engine_process, "LONGEST_START", 1)
        with pytest.raises(EngineError, match=r"within 1 s"):
            start(Laborious(works=60), tmp_path, runs=busy)


def test_an_engine_that_declares_nothing_has_the_usual_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "START_SECONDS", 0.2)
    with pytest.raises(EngineError, match=r"within 0\.2 s"):
        start(SlowEngine(takes=30), tmp_path)


def test_each_engine_has_its_time_and_openclaw_three_minutes() -> None:
    limits = {name: base.start_seconds(engine) for name, engine in ENGINES.items()}
    assert limits.pop("openclaw") == 180
    assert set(limits.values()) == {60}
