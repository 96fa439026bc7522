"""Replaces the agent's data by other data. After a kill at any moment, either the old or the new data is there, and it
is whole.
All directories are below the data directory, which only this pod uses. In `.agentpods/`:
- `incoming` is being filled.
- `ready-<id>` is whole and takes the place of the current data.
- `former` is the data from before, kept until the engine is ready on the new data.
- `discarded` is new data on which no engine became ready, while `former` is put back.
- `gone` may be removed.
- `restored` is a file with the id of the restore that is in place.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agents.pod.archive import OWN
from agents.pod.removal import remove

_NOT_OURS = {OWN, "lost+found"}


class DataSwap:
    def __init__(self, data: Path) -> None:
        self._data = data
        self._own = data / OWN

    @property
    def incoming(self) -> Path:
        return self._own / "incoming"

    def settle(self, wanted: str) -> None:
        """Bring the directories into one whole state, whatever happened before. `wanted` is the id of the requested
        restore, "" for none.
        A restore that is no longer wanted, and that was never confirmed, is undone.
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
        """Create an empty directory for the new data."""
        self._own.mkdir(mode=0o700, exist_ok=True)
        remove(self.incoming)
        self.incoming.mkdir(mode=0o700)
        return self.incoming

    def take_in(self, wanted: str) -> None:
        """The new data is complete: put it in the place of the current data."""
        ready = self._own / f"ready-{wanted}"
        self.incoming.rename(ready)
        self._take_in(ready)

    def restored(self) -> str:
        """The id of the restore that is in place; "" for none."""
        try:
            return (self._own / "restored").read_text(encoding="utf-8")
        except OSError:
            return ""

    def is_in_place(self, wanted: str) -> bool:
        return self.restored() == wanted and not any(self._own.glob("ready-*"))

    def confirm(self) -> bool:
        """The engine is ready on the new data: the former data is no longer needed. Returns True if there was former
        data; call `clear` to remove it.
        """
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
        """Move all current data into `old`, then move `new` into its place. `old.part` exists while the first half is
        not finished.
        """
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
        """Rename the directory before it is removed, so that a half-removed directory is never mistaken for a whole
        one.
        """
        gone = self._own / "gone"
        remove(gone)
        if directory.is_dir():
            directory.rename(gone)


def _move_all(source: Path, target: Path) -> None:
    for name in os.listdir(source):  # noqa: PTH208 # only names: some are not valid text
        if name in _NOT_OURS:
            continue
        found = source / name
        if found.is_dir() and not found.is_symlink():
            # without these rights the directory cannot be moved
            found.chmod(stat.S_IMODE(found.stat().st_mode) | stat.S_IRWXU)
        found.rename(target / name)


def _write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".tmp")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
