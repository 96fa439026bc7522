"""`python -m agents.pod.copy_bridge BUNDLE VOLUME --then -m MODULE ...`: how a pod's gateway begins in a cluster.

The bridge and its own Python come with the project's image and run in the engine's. This copies them into the volume
that both containers see, and becomes the gateway. The engine's container waits for the file `whole`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

WHOLE = "whole"


def copy(bundle: Path, volume: Path) -> None:
    """Each directory of the bundle into the volume, in place of what a killed run left. Nothing if all is there.

    The volume itself belongs to root, and we are not root: its mode and owner are not ours to set."""
    whole = volume / WHOLE
    if whole.exists():
        return
    for source in sorted(bundle.iterdir()):
        target = volume / source.name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, symlinks=True)
    whole.touch()


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="copy_bridge", description="Copies the bridge and its Python into a volume.")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("volume", type=Path)
    parser.add_argument("--then", nargs=argparse.REMAINDER, default=[], help="what Python is to run next")
    given = parser.parse_args(words)
    copy(given.bundle, given.volume)
    if given.then:
        os.execv(sys.executable, [sys.executable, *given.then])  # noqa: S606 # no shell is wanted


if __name__ == "__main__":
    main()
