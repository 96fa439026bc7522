"""Writes configuration files: a file is replaced as a whole, and only its owner can read it."""

from __future__ import annotations

import os
from pathlib import Path

from agents.engines.base import Launch


def write(path: Path, text: str) -> None:
    """Replace the file. A reader sees either the old or the new content, never a part."""
    fresh = path.with_name(f".{path.name}.tmp")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        # A lone surrogate cannot be encoded. Write a question mark in its place, so that the engine still gets its
        # file.
        file.write(text.encode("utf-8", "replace").decode())
    fresh.replace(path)


def render(launch: Launch) -> None:
    for directory in launch.directories:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path, text in {**launch.files, **launch.live_files}.items():
        write(path, text)
