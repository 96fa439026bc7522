"""An agent's data in the place of other data, so that a kill at any moment leaves the old or the new, and both whole.

Everything is below the data directory, which is the lock of the pod. In `.agentpods/`:
`incoming` is being filled; `ready-<id>` is whole and takes the place of what there is; `former` is what
there was before, until the engine is ready on the new; `discarded` is the new that an engine never got ready on, while
the former is put back; `gone` may be removed. `restored` names what is in place.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agents.pod.archive import OWN
from agents.pod.removal import remove

_NOT_OURS = {OWN, "lost+found"}


class Exchange:
    def __init__(self, data: Path) -> None:
        self._data = data
        self._own = data / OWN

    @property
    def incoming(self) -> Path:
        return self._own / "incoming"

    def settle(self, wanted: str) -> None:
        """After whatever happened: one whole state. `wanted` is the restore that is asked for, "" for none.

        A restore that its agent no longer wants, and that was never confirmed, is undone.
        """
        if not self._own.is_dir():
            return
        remove(self.incoming)
        if self._is_there("discarded"):
            self._put_back()
        for ready in self._own.glob("ready-*"):
            if ready.name != f"ready-{wanted}" and not self._is_there("former"):
                (self._own / "restored").unlink(missing_ok=True)
                self._drop(ready)
            else:
                self._take_in(ready)
        if self._is_there("former") and self.restored() != wanted:
            self._put_back()
        self.clear()

    def fill(self) -> Path:
        """An empty directory for the new data."""
        self._own.mkdir(mode=0o700, exist_ok=True)
        remove(self.incoming)
        self.incoming.mkdir(mode=0o700)
        return self.incoming

    def take_in(self, wanted: str) -> None:
        """What was filled in is whole: it takes the place of what there is."""
        ready = self._own / f"ready-{wanted}"
        self.incoming.rename(ready)
        self._take_in(ready)

    def restored(self) -> str:
        """Which restore is in place; "" for none."""
        try:
            return (self._own / "restored").read_text(encoding="utf-8")
        except OSError:
            return ""

    def is_in_place(self, wanted: str) -> bool:
        return self.restored() == wanted and not any(self._own.glob("ready-*"))

    def confirm(self) -> bool:
        """The engine is ready on what is there: the former is no longer needed, and may be cleared away."""
        if not (self._own / "former").is_dir():
            return False
        self._drop(self._own / "former")
        return True

    def clear(self) -> None:
        remove(self._own / "gone")

    def _take_in(self, ready: Path) -> None:
        _write(self._own / "restored", ready.name.removeprefix("ready-"))
        self._swap(ready, "former")

    def _put_back(self) -> None:
        if (self._own / "former").is_dir():
            self._swap(self._own / "former", "discarded")
        (self._own / "restored").unlink(missing_ok=True)
        self._drop(self._own / "discarded")

    def _swap(self, new: Path, old: str) -> None:
        """All there is into `old`, then `new` into its place. `old.part` says that the first half is not done."""
        if not (self._own / old).is_dir():
            part = self._own / f"{old}.part"
            part.mkdir(mode=0o700, exist_ok=True)
            _move_all(self._data, part)
            part.rename(self._own / old)
        _move_all(new, self._data)
        new.rmdir()

    def _is_there(self, name: str) -> bool:
        return (self._own / name).is_dir() or (self._own / f"{name}.part").is_dir()

    def _drop(self, directory: Path) -> None:
        """Renamed first: half of it must never be taken for the whole."""
        gone = self._own / "gone"
        remove(gone)
        if directory.is_dir():
            directory.rename(gone)


def _move_all(source: Path, target: Path) -> None:
    for name in os.listdir(source):  # noqa: PTH208 # names alone: some may be no text
        if name in _NOT_OURS:
            continue
        found = source / name
        if found.is_dir() and not found.is_symlink():
            found.chmod(stat.S_IMODE(found.stat().st_mode) | stat.S_IRWXU)  # else it cannot be moved
        found.rename(target / name)


def _write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".tmp")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
