"""How long the engine pi alone takes from its start to its first answer, and its CPU: the part that is not ours."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import psutil

from agents.engines.base import EnginePlace, ProxyAccess
from agents.engines.pi import PI
from agents.pod.bridge import files, install
from agents.pod.bridge.engine_process import EngineProcess
from agents.pod.bridge.log import EngineLog
from agents.runtimes.base import PodConfig
from benchmarks.figures import Figure

TIMES = 7
MEMORY_BYTES = 1024 * 2**20
CONFIG = PodConfig(
    revision=1,
    soul="You help people study.",
    extra_soul=None,
    lang="en",
    timezone=None,
    name="Alone",
    provider=None,
    model=None,
    toolsets=[],
    mcp_servers=[],
    channels=["web"],
    channel_secrets={},
    a2a_enabled=False,
)


def measure(cache: Path) -> list[Figure]:
    """One start to warm up, then the median of some."""
    found = [asyncio.run(_start(cache)) for _ in range(TIMES + 1)][1:]
    seconds, cpu = (statistics.median(column) for column in zip(*found, strict=True))
    against = (
        f"the same command and files without our programs; the median of {TIMES} starts, each with an empty directory"
    )
    return [
        Figure("pi alone, until it answers", seconds * 1000, "ms", "", None, against),
        Figure("pi alone, its CPU until then", cpu * 1000, "ms", "", None, "the same starts"),
    ]


async def _start(cache: Path) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="agentpods-bench-") as data:
        place = EnginePlace(
            install=install.directory(PI, cache),
            node=install.node(),
            data=Path(data),
            memory_bytes=MEMORY_BYTES,
            port=0,
            password="",
        )
        launch = PI.render(CONFIG, place=place, llm=ProxyAccess(url="http://127.0.0.1:9", token="none"))
        files.render(launch)
        began = time.monotonic()
        engine = await EngineProcess.start(PI, launch, None, generation=0, marks={}, log=EngineLog())
        seconds = time.monotonic() - began
        times = psutil.Process(engine.pid).cpu_times()
        await engine.stop()
        return seconds, times.user + times.system
