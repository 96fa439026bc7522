"""The program beside an engine, as a real process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from agents.engines.base import Sidecar
from agents.pod import processes
from agents.pod.bridge import sidecar as module
from agents.pod.bridge.sidecar import SidecarSupervisor

NAMESPACE = "pod-side-1"
REST = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-ISc', REST]); time.sleep(300)"
ALONE = "import time; time.sleep(300)"


def program(home: Path, source: str = ALONE) -> Sidecar:
    return Sidecar(argv=(sys.executable, "-ISc", source), env={"PATH": "/usr/bin:/bin"}, cwd=home)


def running(home: Path) -> list[psutil.Process]:
    """The pod's running processes, without those that have ended and whose parent has not yet noticed."""
    return [one for one in processes.marked(NAMESPACE, home) if not _has_ended(one)]


def _has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not seen():  # noqa: ASYNC110 - other processes send no event
            await asyncio.sleep(0.02)


@pytest.fixture
def supervisor(tmp_path: Path) -> SidecarSupervisor:
    return SidecarSupervisor(marks=processes.marks(NAMESPACE, tmp_path, processes.ENGINE))


def test_it_runs_as_soon_as_it_is_wanted_and_ends_with_all_that_it_started(
    supervisor: SidecarSupervisor, tmp_path: Path
) -> None:
    async def story() -> None:
        await supervisor.want(program(tmp_path, REST.replace("REST", repr(ALONE))))
        await until(lambda: len(running(tmp_path)) == 2)
        await supervisor.end()

    asyncio.run(story())
    assert running(tmp_path) == []


def test_one_that_ends_by_itself_is_started_again(
    supervisor: SidecarSupervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.05)

    async def story() -> None:
        await supervisor.want(program(tmp_path))
        await until(lambda: bool(running(tmp_path)))
        first = running(tmp_path)[0]
        first.kill()
        await until(lambda: any(one.pid != first.pid for one in running(tmp_path)))
        await supervisor.end()

    asyncio.run(story())
    assert running(tmp_path) == []


def test_another_one_takes_the_place_of_the_first_and_none_ends_it(
    supervisor: SidecarSupervisor, tmp_path: Path
) -> None:
    async def story() -> None:
        await supervisor.want(program(tmp_path))
        await until(lambda: bool(running(tmp_path)))
        first = running(tmp_path)[0].pid
        await supervisor.want(program(tmp_path))
        assert [process.pid for process in running(tmp_path)] == [first]
        await supervisor.want(program(tmp_path, f"{ALONE}  # another"))
        await until(lambda: bool(running(tmp_path)))
        assert first not in {process.pid for process in running(tmp_path)}
        await supervisor.want(None)
        assert running(tmp_path) == []

    asyncio.run(story())
