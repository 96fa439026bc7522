"""Data is removed completely, whatever the agent did to it."""

from __future__ import annotations

import os
from pathlib import Path

from agents.pod.removal import remove


def dig(top: Path, levels: int = 1_100) -> None:
    """Make a chain of directories that is too deep for a path or a recursion, with a file at its end."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


def test_a_tree_of_any_depth_is_removed_and_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    for branch in ("a", "b/c", "b/d/e"):
        (tmp_path / "top" / branch).mkdir(parents=True)
        (tmp_path / "top" / branch / "out").symlink_to(outside)
        (tmp_path / "top" / branch / "nowhere").symlink_to("/nowhere")
    dig(tmp_path / "top" / "a")
    remove(tmp_path / "top")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["kept", "outside"]


def test_a_tree_without_rights_is_removed(tmp_path: Path) -> None:
    inner = tmp_path / "top" / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").touch(mode=0)
    for directory in (inner, inner.parent, inner.parent.parent):
        directory.chmod(0)
    remove(tmp_path / "top")
    assert not (tmp_path / "top").exists()


def test_what_is_gone_is_removed(tmp_path: Path) -> None:
    remove(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []
