"""What the project's image is made of: everything that runs, without the image being made."""

from __future__ import annotations

import fnmatch
import shutil
import subprocess
import sys
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = (ROOT / "deploy" / "images" / "agentpods" / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """A copy of what the rules let into the image."""

    def left_out(directory: str, names: list[str]) -> set[str]:
        return {name for name in names if is_left_out((Path(directory) / name).relative_to(ROOT))}

    return Path(shutil.copytree(ROOT, tmp_path / "app", ignore=left_out))


def is_left_out(path: PurePath) -> bool:
    """The last rule that names the path or a directory above it decides."""
    out = False
    for rule in RULES:
        pattern = rule.removeprefix("!").removeprefix("**/")
        names = [path, *path.parents] if "**/" not in rule else [PurePath(part) for part in path.parts]
        if rule and not rule.startswith("#") and any(matches(name, pattern) for name in names):
            out = not rule.startswith("!")
    return out


def matches(path: PurePath, pattern: str) -> bool:
    """A star stands for a part of one name."""
    parts, wanted = path.parts, PurePath(pattern).parts
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def test_nothing_of_the_working_copy_is_let_in(context: Path) -> None:
    assert not any((context / name).exists() for name in ("var", ".git", ".venv", "tests", "docs/billing.md"))
    assert not any(context.rglob("__pycache__"))


def test_the_project_describes_its_api_with_what_is_let_in(context: Path) -> None:
    command = [sys.executable, "manage.py", "spectacular", "--fail-on-warn", "--file=openapi.made.yaml"]
    done = subprocess.run(command, cwd=context, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (context / "openapi.made.yaml").read_text() == (ROOT / "openapi.yaml").read_text()
