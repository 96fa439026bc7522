"""The processes of one engine. This module has the contract of its two kinds, and the code that both share."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from weakref import WeakValueDictionary

from agents.engines.base import Engine, EngineError, Launch, Turns
from agents.pod.bridge.engine_process import EngineProcess
from agents.pod.bridge.log import EngineLog


class EngineProcesses(ABC):
    """The live processes of one engine."""

    def __init__(self, engine: Engine, *, marks: Mapping[str, str], log: EngineLog) -> None:
        self._engine = engine
        self._marks = marks
        self._log = log
        self._launch: Launch | None = None
        self._lanes = Lanes()
        self._starting = asyncio.Lock()
        self._death: asyncio.Future[str] | None = None  # None while the engine is down
        self.stirred = asyncio.Event()  # something has changed that the supervisor should look at now

    @property
    @abstractmethod
    def processes(self) -> list[EngineProcess]: ...

    @property
    def death(self) -> asyncio.Future[str]:
        """Done when a process has ended that the bridge did not stop. The whole engine then counts as dead."""
        if self._death is None:
            raise EngineError("the engine is not running")
        return self._death

    @property
    def launch(self) -> Launch | None:
        """The running launch; None while the engine is down."""
        return self._launch if self._death else None

    @abstractmethod
    def main_pid(self) -> int | None:
        """The process that an operator would call the engine."""

    @abstractmethod
    async def open(self, launch: Launch) -> None:
        """Start the engine, or move it to a new launch. Raises EngineError."""

    @abstractmethod
    def lease(self, session: str) -> AbstractAsyncContextManager[Turns]:
        """The conversation of this session, for one turn. Raises EngineError if the engine cannot take a turn."""

    def retire_idle(self) -> None:  # noqa: B027 - a server of all conversations stays
        """End idle processes to free their memory."""

    @abstractmethod
    def kill(self) -> None:
        """Kill all processes of the engine. When this returns, every turn has failed."""

    @abstractmethod
    async def close(self) -> None:
        """End all processes, gracefully if there is time."""

    async def _start(self, session: str | None, launch: Launch, generation: int = 0) -> EngineProcess:
        return await EngineProcess.start(
            self._engine, launch, session, generation=generation, marks=self._marks, log=self._log
        )

    def _is_up(self) -> None:
        if self._death is None:
            self._death = asyncio.get_running_loop().create_future()

    def _on_exit(self, process: EngineProcess) -> None:
        if not process.ending and self._death and not self._death.done():
            self._death.set_result(_last_words(process))
            self.stirred.set()


class Lanes:
    """Turns of the same conversation run one after the other; turns of different conversations run at the same time."""

    def __init__(self) -> None:
        self._lanes: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, session: str) -> AsyncIterator[None]:
        lane = self._lanes.setdefault(session, asyncio.Lock())
        async with lane:
            yield


def _last_words(process: EngineProcess) -> str:
    """A message about how a process ended that the bridge did not stop."""
    code = process.process.returncode or 0
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return f"the engine ended {how}"
