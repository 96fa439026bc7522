"""Backs up and restores a large data directory with pods of this machine: `python -m benchmarks.large_backup [GB]`.

Prints the time of each step, and the most memory that a pod's bridge and its restic used together: memory of their own,
and with pages of files. Exits with 1 if their own memory exceeds 200 MB, or if the restored data differs. Needs Debian
or RESTIC, and four times the size on the disk of TMPDIR.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import django
import psutil

if TYPE_CHECKING:
    from agents.runtimes.base import Phase
    from agents.runtimes.pod_backups import BackupState

T = TypeVar("T")

LIMIT_BYTES = 200 * 2**20
GIVE_UP_SECONDS = 4 * 3600.0
# Shares of the size: a fifth in small files, a tenth in one database, the rest in a few large files.
SMALL_SHARE, DATABASE_SHARE, LARGE_FILES = 0.2, 0.1, 3
SMALL_BYTES, FILES_EACH = 20_000, 500
PASSWORD = "of the repository"


def main(gigabytes: float) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    with tempfile.TemporaryDirectory(prefix="agentpods-bench-") as place:
        os.environ |= {"AGENTPODS_HOME": place, "BACKUP_STORE": f"{place}/store"}
        django.setup()
        with endpoint(Path(place)):
            return int(not measured(Path(place), int(gigabytes * 2**30)))


@contextmanager
def endpoint(place: Path) -> Iterator[None]:
    """The program to which pods write their backups."""
    from agents.backups import address  # noqa: PLC0415 # importable only after django.setup()

    with (place / "endpoint.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "agents.backups.endpoint"], stdout=log, stderr=log)
    try:
        until(lambda: address.url() is not None, seconds=120)
        yield
    finally:
        process.kill()
        process.wait()


def measured(place: Path, size: int) -> bool:
    from agents.backups import credentials  # noqa: PLC0415 # importable only after django.setup()
    from agents.runtimes import pod_backups  # noqa: PLC0415
    from agents.runtimes.base import Phase  # noqa: PLC0415
    from tests.agents.runtimes.conftest import AGENT  # noqa: PLC0415

    pod = LargePod(place, size)
    try:
        pod.start("pod-abc-1", Phase.READY)
        fill(pod.data, size)
        before = digests(pod.data)
        taken, fits = pod.told("backup", "bkp_1", pod_backups.back_up)
        _, again = pod.told("a backup of the same", "bkp_2", pod_backups.back_up)
        (pod.data / "later").write_text("since then")
        pod.start("pod-abc-2", Phase.RESTORING, data_expected=True, restore="r1")
        pod.order = dataclasses.replace(pod.order, credential=credentials.mint(AGENT), snapshot=taken.snapshot)
        _, back = pod.told("restore", "r1", pod_backups.restore)
        same = digests(pod.data) == before
    finally:
        pod.end()
    print(f"restored: {'the same' if same else 'SOMETHING ELSE'}, {len(before)} files", flush=True)
    return fits and again and back and same


class LargePod:
    """A pod with a double of an engine, its backup repository, and the orders that the pod gets."""

    def __init__(self, place: Path, size: int) -> None:
        from agents.backups import address, credentials, supply  # noqa: PLC0415 # importable only after django.setup()
        from agents.pod import restic  # noqa: PLC0415
        from agents.runtimes.local import LocalRuntime  # noqa: PLC0415
        from agents.runtimes.pod_backups import BackupOrder  # noqa: PLC0415
        from tests.agents.runtimes.conftest import AGENT  # noqa: PLC0415
        from tests.doubles.pi import install_double  # noqa: PLC0415

        program = supply.ensure(os.environ.get("RESTIC", ""), Path("var/engines").absolute())
        known = restic.environment(repository=f"{place}/store/{AGENT}", cache=None, more={})
        subprocess.run([program, "--quiet", "init"], env=known, input=PASSWORD.encode(), check=True)
        cache = install_double(place / "engines")
        self.runtime = LocalRuntime(home=place / "home", engine_cache=cache, restic=str(program))
        self.agent, self.namespace = AGENT, ""
        self.data = self.runtime.home.data_dir(AGENT) / "workspace" / "large"
        self.order = BackupOrder(
            id="",
            url=address.url() or "",
            credential=credentials.mint(AGENT, may_add=3 * size),
            password=PASSWORD,
            most_bytes=3 * size,
        )

    def start(self, namespace: str, phase: Phase, **given: Any) -> None:
        """Start a pod, in place of the current one if there is one."""
        from tests.agents.runtimes.conftest import pod_spec  # noqa: PLC0415

        def is_there() -> bool:
            seen = self.runtime.observe().get(namespace)
            return seen is not None and seen.phase == phase and seen.gateway_alive

        if self.namespace:
            self.runtime.delete(self.namespace, agent_id=self.agent, data=False)
        self.namespace = namespace
        self.runtime.deploy(dataclasses.replace(pod_spec(namespace), **given))
        until(is_there, seconds=300)

    def told(self, what: str, id: str, ask: Callable[..., BackupState]) -> tuple[BackupState, bool]:
        """Ask for a step and wait for its end. Return its result and whether it stayed within the memory limit."""
        self.order = dataclasses.replace(self.order, id=id)
        began = time.monotonic()
        with MemoryWatch(self.namespace) as watch:
            answer = until(lambda: self._asked(ask), seconds=GIVE_UP_SECONDS)
        own, resident = watch.own / 2**20, watch.resident / 2**20
        print(f"{what}: {time.monotonic() - began:.0f} s; {own:.0f} MB, with files {resident:.0f} MB", flush=True)
        return answer, watch.own <= LIMIT_BYTES

    def end(self) -> None:
        self.runtime.delete(self.namespace, agent_id=self.agent, data=True)

    def _asked(self, ask: Callable[..., BackupState]) -> BackupState | None:
        """The result of the step; None while it still runs."""
        from agents.pod.turns.failures import HopFailure  # noqa: PLC0415
        from tests.agents.runtimes.conftest import ACCESS  # noqa: PLC0415

        try:
            state = ask(self.runtime.endpoint(self.namespace), ACCESS, self.order)
        except HopFailure:
            return None  # a busy machine
        if state.phase == "failed":
            raise SystemExit(state.message)
        return state if state.phase == "done" else None


def fill(data: Path, size: int) -> None:
    """Write random data: it cannot be compressed, and no part repeats."""
    chance = random.Random(1)
    data.mkdir(parents=True)
    for number in range(int(size * SMALL_SHARE / SMALL_BYTES)):
        directory = data / f"{number // FILES_EACH}"
        directory.mkdir(exist_ok=True)
        (directory / f"{number}.txt").write_bytes(chance.randbytes(SMALL_BYTES))
    large = int(size * (1 - SMALL_SHARE - DATABASE_SHARE) / LARGE_FILES)
    for number in range(LARGE_FILES):
        with (data / f"large-{number}").open("wb") as file:
            for _ in range(large // 2**20):
                file.write(chance.randbytes(2**20))
    with closing(sqlite3.connect(data / "state.db")) as database:
        database.execute("CREATE TABLE words (number INTEGER PRIMARY KEY, text BLOB)")
        for _ in range(int(size * DATABASE_SHARE) // 2**20):
            database.executemany("INSERT INTO words (text) VALUES (?)", [(chance.randbytes(4096),) for _ in range(256)])
            database.commit()


def digests(data: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(data.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(data))] = _words(path) if path.suffix == ".db" else _digest(path)
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _words(path: Path) -> str:
    """A digest of the database's content: SQLite's own copy has a different change counter in its file."""
    digest = hashlib.sha256()
    with closing(sqlite3.connect(path)) as database:
        for (text,) in database.execute("SELECT text FROM words ORDER BY number"):
            digest.update(text)
    return digest.hexdigest()


class MemoryWatch(threading.Thread):
    """The most memory that a bridge and its restic use together, measured ten times a second."""

    def __init__(self, namespace: str) -> None:
        super().__init__(daemon=True)
        self.own = self.resident = 0
        self._is_over = threading.Event()
        mark = f"--namespace={namespace}"
        running = psutil.process_iter(["cmdline"])
        (self._bridge,) = [one for one in running if {mark, "agents.pod.bridge"} <= set(one.info["cmdline"] or [])]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self.join()

    def run(self) -> None:
        while not self._is_over.wait(0.1):
            restics = [one for one in self._bridge.children() if _name(one) == "restic"]
            looks = [look for one in (self._bridge, *restics) if (look := _memory(one))]
            self.own = max(self.own, sum(own for own, _ in looks))
            self.resident = max(self.resident, sum(resident for _, resident in looks))


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return "gone"


def _memory(process: psutil.Process) -> tuple[int, int] | None:
    """Bytes of memory that only this process has, and of all its memory. None if the process has ended."""
    try:
        found = process.memory_info()
    except psutil.NoSuchProcess:
        return None
    return found.rss - found.shared, found.rss


def until(ask: Callable[[], T | None], *, seconds: float) -> T:
    """The first answer that is true. Exits if there is none in time."""
    end = time.monotonic() + seconds
    while not (answer := ask()):
        if time.monotonic() > end:
            raise SystemExit("it takes too long")
        time.sleep(0.2)
    return answer


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0))
