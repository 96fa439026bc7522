"""Builds the guide: `python -m config.guide`. A broken link or anchor is an error. Needs no settings and no store."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATION = ROOT / "mkdocs.yml"
SITE = ROOT / "var" / "guide"  # `site_dir` of mkdocs.yml, and GUIDE_ROOT of the settings
BUILT_FROM = ROOT / "var" / "guide-built-from"
NICENESS = 10  # `make run` builds it while the rest starts


def main() -> int:
    """Nothing is done where the site is of these pages already. Two that begin at once build it one after the other."""
    SITE.parent.mkdir(exist_ok=True)
    with (SITE.parent / "guide.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sources = _sources()
        if SITE.exists() and BUILT_FROM.exists() and BUILT_FROM.read_text() == sources:
            return 0
        os.nice(NICENESS)
        BUILT_FROM.unlink(missing_ok=True)
        shutil.rmtree(SITE, ignore_errors=True)  # pages that are no longer there
        zensical = Path(sys.executable).with_name("zensical")
        command = [str(zensical), "build", "--strict", "--clean", "--config-file", str(CONFIGURATION)]
        done = subprocess.run(command, cwd=ROOT, check=False)
        if done.returncode == 0:
            BUILT_FROM.write_text(sources)
        return done.returncode


def _sources() -> str:
    """A digest of all that the site is made of."""
    digest = hashlib.sha256(metadata.version("zensical").encode())
    for path in [CONFIGURATION, *sorted((ROOT / "docs").rglob("*"))]:
        if path.is_file():
            digest.update(f"\0{path.relative_to(ROOT)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
