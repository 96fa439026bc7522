"""`python -m agents.pod.copy_bridge VOLUME`: what the init container does. The bridge and its own Python come with the
project's image and run in the engine's; this copies them into the volume that both containers see.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

BUNDLE = Path("/opt/bridge")


def copy(bundle: Path, volume: Path) -> None:
    """Each directory of the bundle into the volume, in place of what an earlier run left.

    The volume itself belongs to root, and we are not root: its mode and owner are not ours to set."""
    for source in sorted(bundle.iterdir()):
        target = volume / source.name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, symlinks=True)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="copy_bridge", description="Copies the bridge and its Python into a volume.")
    parser.add_argument("volume", type=Path)
    parser.add_argument("--bundle", type=Path, default=BUNDLE)
    given = parser.parse_args(words)
    copy(given.bundle, given.volume)


if __name__ == "__main__":
    main()
