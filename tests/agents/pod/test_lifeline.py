from __future__ import annotations

import asyncio
import subprocess

import psutil
import pytest

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
