"""The files in the images: everything that runs or is installed, and nothing else. These tests build no image."""

from __future__ import annotations

import fnmatch
import functools
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path, PurePath

import pytest

from agents.engines import ENGINES
from agents.engines.base import Engine

pytestmark = pytest.mark.unmeasured

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "deploy" / "images"
NAMES = ["agentpods", *ENGINES]


@pytest.fixture
def context(tmp_path: Path) -> Path:
    return context_of("agentpods", tmp_path)


def context_of(name: str, scratch: Path) -> Path:
    """A copy of the files that the rules let into the image."""
    rules = (IMAGES / name / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()

    def left_out(directory: str, names: list[str]) -> set[str]:
        return {name for name in names if is_left_out((Path(directory) / name).relative_to(ROOT), rules)}

    return Path(shutil.copytree(ROOT, scratch / "app", ignore=left_out))


def is_left_out(path: PurePath, rules: list[str]) -> bool:
    """Whether the path stays out: the last rule for the path or a directory above it decides."""
    out = False
    for rule in rules:
        pattern = rule.removeprefix("!").removeprefix("**/")
        names = [path, *path.parents] if "**/" not in rule else [PurePath(part) for part in path.parts]
        if rule and not rule.startswith("#") and any(matches(name, pattern) for name in names):
            out = not rule.startswith("!")
    return out


@functools.cache
def matches(path: PurePath, pattern: str) -> bool:
    """Whether the path matches; a star stands for a part of one name."""
    parts, wanted = path.parts, PurePath(pattern).parts
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def test_nothing_of_the_working_copy_is_let_in(context: Path) -> None:
    assert not any((context / name).exists() for name in ("var", ".git", ".venv", "tests", "examples"))
    assert not any(context.rglob("__pycache__"))


@pytest.mark.sampled
def test_the_project_describes_its_api_with_what_is_let_in(context: Path) -> None:
    command = [sys.executable, "manage.py", "spectacular", "--fail-on-warn", "--file=openapi.made.yaml"]
    done = subprocess.run(command, cwd=context, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (context / "openapi.made.yaml").read_text() == (ROOT / "openapi.yaml").read_text()


def test_every_engine_has_an_image() -> None:
    assert sorted(runpy.run_path(str(IMAGES / "build.py"))["IMAGES"]) == sorted(NAMES)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_an_engines_image_sees_its_own_lock_and_nothing_else_of_the_project(engine: Engine, tmp_path: Path) -> None:
    context, recipe = context_of(engine.id, tmp_path), engine.package.recipe
    let_in = {path.relative_to(context) for path in context.rglob("*") if path.is_file()}
    for_node = {Path("requirements.lock"), Path("deploy/images/locked.py")}
    assert let_in - for_node == {path.relative_to(ROOT) for path in recipe.iterdir()}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_dockerfile_copies_and_runs_is_let_in(name: str, tmp_path: Path) -> None:
    context = context_of(name, tmp_path)
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile(name), re.MULTILINE)
    assert copied
    assert [source for line in copied for source in line.split() if not (context / source).exists()] == []
    for step, module in steps_of_the_project(name):
        assert "cd /app && " in step.split(" -m ")[0]
        assert (context / module).is_dir() or (context / module).with_suffix(".py").is_file()


def steps_of_the_project(name: str) -> list[tuple[str, Path]]:
    """Each step of the Dockerfile that runs a module of the project, with the module's path."""
    steps = re.findall(r"^RUN (.+?[^\\])$", dockerfile(name), re.MULTILINE | re.DOTALL)
    called = [(step, module) for step in steps for module in re.findall(r"python -m (\S+)", step)]
    return [(step, Path(*module.split("."))) for step, module in called if (ROOT / module.split(".")[0]).is_dir()]


def test_only_the_image_of_the_project_runs_its_modules() -> None:
    assert [name for name in NAMES if steps_of_the_project(name)] == ["agentpods"]


@pytest.mark.parametrize(
    ("name", "other"),
    [("hermes", "agentpods"), *((name, "pi") for name in ("opencode", "claude-code", "openclaw", "n8n"))],
)
def test_images_that_can_share_a_layer_begin_alike(name: str, other: str) -> None:
    assert debian_stage(name) == debian_stage(other)


def debian_stage(name: str) -> str:
    found = re.search(r"^FROM \$\{BASE\} AS debian\n(.+?)\n\n", dockerfile(name), re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def dockerfile(name: str) -> str:
    return (IMAGES / name / "Dockerfile").read_text(encoding="utf-8")
