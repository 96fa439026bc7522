"""A limit on agents that boot at the same time: starting one needs a berth, which is free again after the boot."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.crash.client import CustomerClient, Unanswered

POLL_SECONDS = 1.0


class Berth:
    def __init__(self) -> None:
        self.agent_id = ""
        self.client: CustomerClient | None = None

    def taken_by(self, agent_id: str, client: CustomerClient) -> None:
        self.agent_id, self.client = agent_id, client


class Berths:
    def __init__(self, number: int) -> None:
        self._free = threading.Semaphore(number)
        self._lock = threading.Lock()
        self._taken: list[Berth] = []

    @contextmanager
    def boarding(self, *, wait: bool) -> Iterator[Berth | None]:
        """A berth for starting an agent; None if none is free and `wait` is false. It is kept only if it is used."""
        berth = Berth()
        if not self._free.acquire(blocking=wait):
            yield None
            return
        try:
            yield berth
        finally:
            if berth.client is None:
                self._free.release()
            else:
                with self._lock:
                    self._taken.append(berth)

    def watch(self, over: threading.Event) -> None:
        """Free the berths of agents that have finished booting."""
        while not over.wait(POLL_SECONDS):
            with self._lock:
                taken = list(self._taken)
            for berth in taken:
                if not _is_booting(berth):
                    with self._lock:
                        self._taken.remove(berth)
                    self._free.release()


def _is_booting(berth: Berth) -> bool:
    if berth.client is None:
        return False
    try:
        answer = berth.client.ask("GET", f"/agents/{berth.agent_id}", patience=0)
    except Unanswered:
        return True
    return answer.status == 200 and answer.body["agent"]["status"] == "provisioning"
