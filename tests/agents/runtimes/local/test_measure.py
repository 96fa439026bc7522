"""What counts as memory and disk of a pod, with real files and real processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.pod import processes
from agents.runtimes.local import measure

MiB = 2**20

# Takes memory, then forks children that only read it.
FORKING = """
import os, sys, time
taken = bytearray(os.urandom(1024)) * (int(sys.argv[1]) * 1024)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(600)
print("ready", flush=True)
time.sleep(600)
"""


@contextmanager
def forking(megabytes: int, **environment: str) -> Iterator[list[int]]:
    """The pids of a process with its three forks."""
    process = subprocess.Popen(
        [sys.executable, "-c", FORKING, str(megabytes)],
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **environment},
        start_new_session=True,
    )
    try:
        assert process.stdout
        process.stdout.readline()
        yield [process.pid, *children_of(process.pid)]
    finally:
        os.killpg(process.pid, 9)
        process.communicate()


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def write(path: Path, size: int = MiB) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    return path


def test_files_count_by_the_blocks_they_take(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b" / "full", 3 * MiB)
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(500 * MiB)
    assert 3 * MiB <= measure.disk_of(tmp_path) < 4 * MiB


def test_a_file_with_several_names_counts_once(tmp_path: Path) -> None:
    file = write(tmp_path / "one")
    (tmp_path / "two").hardlink_to(file)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "three").hardlink_to(file)
    assert MiB <= measure.disk_of(tmp_path) < 2 * MiB


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside" / "large", 5 * MiB).parent
    data = tmp_path / "data"
    data.mkdir()
    (data / "out").symlink_to(outside)
    (data / "loop").symlink_to(data)
    (data / "nowhere").symlink_to("/nowhere")
    assert measure.disk_of(data) < MiB


def test_what_cannot_be_opened_leaves_the_rest_counted(tmp_path: Path) -> None:
    write(tmp_path / "seen")
    locked = write(tmp_path / "locked" / "hidden").parent
    os.mkfifo(tmp_path / "pipe")
    locked.chmod(0)
    try:
        assert measure.disk_of(tmp_path) >= MiB
    finally:
        locked.chmod(0o700)
    assert measure.disk_of(tmp_path / "not there") == 0


def test_a_tree_deeper_than_the_longest_path_is_counted_to_its_end(tmp_path: Path) -> None:
    name, top = "d" * 200, tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(40):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    file = os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.posix_fallocate(file, 0, MiB)
    for descriptor in (file, here):
        os.close(descriptor)
    open_before = open_descriptors()
    assert measure.disk_of(top) >= MiB
    assert open_descriptors() == open_before
    shutil.rmtree(top)


def test_files_that_come_and_go_meanwhile_disturb_nobody(tmp_path: Path) -> None:
    write(tmp_path / "stays")
    over = threading.Event()

    def churn() -> None:
        while not over.is_set():
            write(tmp_path / "churn" / "deep" / "file", 4096)
            shutil.rmtree(tmp_path / "churn")

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        measured = [measure.disk_of(tmp_path) for _ in range(200)]
    finally:
        over.set()
        thread.join()
    assert min(measured) >= MiB


def test_a_tree_without_end_is_left_when_the_time_is_over(tmp_path: Path) -> None:
    write(tmp_path / "large", 5 * MiB)
    assert measure.disk_of(tmp_path, seconds=0) == 0


def test_memory_that_forks_share_counts_once() -> None:
    with forking(100) as pids:
        assert len(pids) == 4
        assert 100 * MiB <= measure.memory_of(pids) < 180 * MiB


def test_a_process_that_is_gone_takes_nothing() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert measure.memory_of([process.pid]) == 0


@pytest.mark.sampled
@pytest.mark.parametrize(("role", "counts"), [(processes.ENGINE, True), (processes.INSTALL, False), ("gateway", False)])
def test_what_left_the_tree_counts_by_its_marks(tmp_path: Path, role: str, *, counts: bool) -> None:
    with forking(1, **processes.marks("pod-x-1", tmp_path, role)) as pids:
        assert measure.ProcessTable(tmp_path).of("pod-x-1", None) == (set(pids) if counts else set())
        assert measure.ProcessTable(tmp_path).of("pod-y-1", None) == set()
        assert measure.ProcessTable(tmp_path / "other").of("pod-x-1", None) == set()


def test_an_installation_below_the_bridge_is_the_machines_and_not_the_pods(tmp_path: Path) -> None:
    with forking(1, **processes.marks("pod-x-1", tmp_path, processes.INSTALL)) as pids:
        assert measure.ProcessTable(tmp_path).of("pod-x-1", os.getpid()).isdisjoint(pids)
    with forking(1) as pids:
        assert measure.ProcessTable(tmp_path).of("pod-x-1", os.getpid()) >= set(pids)
