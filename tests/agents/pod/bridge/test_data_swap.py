"""A restore replaces data: after a kill at any moment, the next start finds the old or the new data, whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agents.pod import removal
from agents.pod.bridge.data_swap import DataSwap

OLD = {"a": "old a", "both": "old", "d/x": "old x", "d/y": "old y"}
NEW = {"b": "new b", "both": "new", "d/x": "new x", "e/z": "new z"}


class KilledExchange(BaseException):
    """Ends the work as SIGKILL would: no later code of the program runs."""


def put(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def seen(data: Path) -> dict[str, str]:
    found = (path for path in data.rglob("*") if path.is_file() and ".agentpods" not in path.parts)
    return {str(path.relative_to(data)): path.read_text() for path in found}


def killed_at(step: int, monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> bool:
    """Do the work, but die after `step` changes of the disk. Returns whether the work died."""
    left = [step]

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def change(*words: object, **options: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise KilledExchange
            return real(*words, **options)

        return change

    with monkeypatch.context() as patch:
        for name in ("rename", "mkdir", "rmdir", "unlink", "replace", "write_text"):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        patch.setattr("agents.pod.bridge.data_swap.remove", counted(removal.remove))
        try:
            work()
        except KilledExchange:
            return True
    return False


def restore(data: Path) -> None:
    own = DataSwap(data)
    own.settle("r1")
    if own.is_in_place("r1"):
        return
    put(own.fill(), NEW)
    own.take_in("r1")


STEPS = range(40)


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_in_the_middle_of_a_restore_leaves_one_whole_state(
    tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, OLD)
    killed_at(step, monkeypatch, lambda: restore(tmp_path))
    DataSwap(tmp_path).settle("r1")  # the next bridge starts, for the same restore
    assert seen(tmp_path) in (OLD, NEW)
    restore(tmp_path)
    assert seen(tmp_path) == NEW
    assert DataSwap(tmp_path).is_in_place("r1")


@pytest.mark.parametrize("step", STEPS)
def test_a_restore_that_is_no_longer_wanted_is_undone(
    tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, OLD)
    killed_at(step, monkeypatch, lambda: restore(tmp_path))
    while killed_at(step, monkeypatch, lambda: DataSwap(tmp_path).settle("")):  # the next starts are killed too
        step += 1
    assert seen(tmp_path) == OLD
    assert not DataSwap(tmp_path).is_in_place("r1")


@pytest.mark.parametrize("step", range(8))
def test_once_the_engine_was_ready_nothing_is_undone(
    tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, OLD)
    restore(tmp_path)

    def confirm() -> None:
        own = DataSwap(tmp_path)
        own.confirm()
        own.clear()

    confirmed = not killed_at(step, monkeypatch, confirm) or not (tmp_path / ".agentpods" / "former").exists()
    DataSwap(tmp_path).settle("")
    assert seen(tmp_path) == (NEW if confirmed else OLD)
    assert {path.name for path in (tmp_path / ".agentpods").iterdir()} <= {"restored"}


def test_another_restore_takes_the_place_of_one_that_was_not_confirmed(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    restore(tmp_path)
    DataSwap(tmp_path).settle("r2")
    assert seen(tmp_path) == OLD


def test_a_directory_that_its_agent_closed_is_moved_too(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    (tmp_path / "d").chmod(0)
    restore(tmp_path)
    assert seen(tmp_path) == NEW
