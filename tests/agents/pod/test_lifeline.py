from __future__ import annotations

import asyncio
import errno
import os
import subprocess
from collections.abc import Iterator

import psutil
import pytest

from agents.pod import lifeline
from agents.pod.lifeline import supervisor_gone


def _ends(environ: dict[str, str]) -> bool:
    async def wait() -> bool:
        try:
            await asyncio.wait_for(supervisor_gone(environ), 0.5)
        except TimeoutError:
            return False
        return True

    return asyncio.run(wait())


@pytest.fixture
def ended() -> str:
    """A process that has ended, as AGENTPODS_SUPERVISOR names it."""
    process = subprocess.Popen(["true"])
    named = f"{process.pid}:{psutil.Process(process.pid).create_time()}"
    process.wait()
    return named


def _own_name(shift: float = 0.0) -> str:
    own = psutil.Process()
    return f"{own.pid}:{own.create_time() + shift}"


def test_a_live_supervisor_is_waited_for() -> None:
    assert not _ends({"AGENTPODS_SUPERVISOR": _own_name()})


def test_a_supervisor_that_ended_is_gone(ended: str) -> None:
    assert _ends({"AGENTPODS_SUPERVISOR": ended})


def test_another_process_with_the_supervisors_number_is_not_the_supervisor() -> None:
    assert _ends({"AGENTPODS_SUPERVISOR": _own_name(shift=-3600)})


def test_without_a_supervisor_nothing_is_watched() -> None:
    assert not _ends({})


def test_an_operator_who_keeps_pods_keeps_them(ended: str) -> None:
    assert not _ends({"AGENTPODS_SUPERVISOR": ended, "KEEP_PODS": "1"})


@pytest.fixture
def supervisor() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def _ends_with(supervisor: subprocess.Popen[bytes]) -> None:
    async def killed_while_watched() -> None:
        created = psutil.Process(supervisor.pid).create_time()
        watching = asyncio.create_task(supervisor_gone({"AGENTPODS_SUPERVISOR": f"{supervisor.pid}:{created}"}))
        assert not (await asyncio.wait({watching}, timeout=0.1))[0]
        supervisor.kill()
        await asyncio.wait_for(watching, 20)

    asyncio.run(killed_while_watched())


def test_the_end_of_a_supervisor_is_told_and_not_looked_for(
    supervisor: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifeline, "CHECK_SECONDS", 600)
    _ends_with(supervisor)


def test_where_the_kernel_cannot_tell_the_end_it_is_looked_for(
    supervisor: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", unknown)
    monkeypatch.setattr(lifeline, "CHECK_SECONDS", 0.05)
    _ends_with(supervisor)
