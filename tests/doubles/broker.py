"""A Redis of a single test, which the test may kill, hang and empty."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config import background, redis_breaker
from config import redis as our_redis
from config.run import redis


class Broker:
    """A Redis of a single test."""

    def __init__(self, directory: Path) -> None:
        self.socket = directory / "redis.sock"
        self.start()

    @property
    def url(self) -> str:
        return f"redis+socket://{self.socket}"

    @contextmanager
    def used(self, settings: Any) -> Iterator[Broker]:
        """Within the block, this process uses this Redis too."""
        settings.REDIS_URL = settings.CELERY_BROKER_URL = self.url
        _forget()
        try:
            yield self
        finally:
            self.process.kill()
            self.process.wait()
            _forget()

    def start(self) -> None:
        self.process = subprocess.Popen(redis.command(self.socket), stdout=subprocess.DEVNULL)
        while not self.socket.exists():
            time.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.socket.unlink()

    def hang(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def wake_up(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def wipe(self) -> None:
        our_redis.client().flushall()


def _forget() -> None:
    our_redis.client.cache_clear()
    background._connection.cache_clear()
    redis_breaker.forget_outage()
