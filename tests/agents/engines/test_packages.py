"""Engines and runtimes of third parties, as Python packages with an entry point (docs/how-to/add-an-engine.md)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.coverage_scope import unmeasured

pytestmark = pytest.mark.unmeasured

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "engine"
WHAT_IS_THERE = """
import json, django
django.setup()
from agents.engines import ENGINES
from catalog import checks, files, licences
from catalog.models import Engine
from catalog.serializers.catalog import EngineSerializer
print(json.dumps({
    "engines": list(ENGINES),
    "rows": [row.pk for row in files.read().rows[Engine]],
    "choices": list(EngineSerializer().fields["id"].choices),
    "licences": licences.on_confirmation(),
    "broken": [error.msg for error in checks.engine_packages_are_whole()],
}))
"""
OURS = ["claude-code", "hermes", "n8n", "openclaw", "opencode", "pi"]
# A runtime in a package made by hand: the files that an installer would write.
QUIET = """
from django.conf import settings
from agents.runtimes.local import LocalRuntime

class Quiet(LocalRuntime):
    def __init__(self):
        super().__init__(home=settings.AGENTPODS_HOME, engine_cache=settings.ENGINE_CACHE, restic=settings.RESTIC)
"""


class Environment:
    """A virtual environment with all of our packages, and with packages of third parties."""

    def __init__(self, place: Path) -> None:
        self.python = place / "bin" / "python"
        self._run(sys.executable, "-m", "venv", "--without-pip", str(place))
        self.packages = Path(sysconfig.get_path("purelib", vars={"base": str(place)}))
        ours = sysconfig.get_path("purelib")
        (self.packages / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")

    def install(self, source: Path, scratch: Path) -> None:
        """Install with pip, as everybody does. A build leaves files beside its source, so pip gets a copy."""
        copy = scratch / "source"
        shutil.copytree(source, copy)
        pip = (sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check")
        self._run(*pip, "install", "--quiet", "--no-deps", str(copy))

    def add(self, name: str, entry_points: str, source: str = "") -> None:
        info = self.packages / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        (self.packages / f"{name}.py").write_text(source)

    def what_is_there(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self._run(str(self.python), "-c", WHAT_IS_THERE).splitlines()[-1])
        return told

    def conformance(self, *words: str) -> str:
        return self._run(str(self.python), "-m", "tests.conformance", *words)

    def _run(self, *command: str) -> str:
        environment = unmeasured() | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        for name in [name for name in environment if name.startswith("PYTEST_")]:
            del environment[name]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment")


@pytest.mark.sampled
def test_the_example_joins_the_engines_and_the_catalog_and_answers_in_a_pod(
    environment: Environment, tmp_path: Path
) -> None:
    environment.install(EXAMPLE, tmp_path)
    there = environment.what_is_there()
    assert "minimal" in there["engines"]
    assert there["rows"][-1] == "minimal"
    assert sorted(there["choices"]) == sorted([*OURS, "minimal"])
    assert there["broken"] == []
    said = environment.conformance("--engine", "minimal", "--", "-q", "-k", "without_a_key_it_is_healthy")
    assert "1 passed" in said


def test_the_document_shows_the_example_whole() -> None:
    document = (ROOT / "docs" / "how-to" / "add-an-engine.md").read_text(encoding="utf-8")
    files = [path for path in EXAMPLE.rglob("*") if path.suffix in {".toml", ".py", ".mjs"}]
    assert len(files) == 3
    for path in files:
        assert f"`{path.relative_to(EXAMPLE)}`" in document
        assert path.read_text(encoding="utf-8") in document


@pytest.mark.engines
def test_the_example_passes_the_whole_suite(environment: Environment, tmp_path: Path) -> None:
    environment.install(EXAMPLE, tmp_path)
    assert " failed" not in environment.conformance("--engine", "minimal", "--", "-q")


@pytest.mark.sampled
def test_a_runtime_of_a_third_party_is_tried_by_the_same_suite(environment: Environment) -> None:
    environment.add("quiet_runtime", "[agentpods.runtimes]\nquiet = quiet_runtime:Quiet\n", QUIET)
    said = environment.conformance("--runtime", "quiet", "--", "-q", "-k", "answers_where_its_endpoint_says")
    assert "1 passed" in said


@pytest.mark.sampled
def test_a_broken_package_is_told_and_the_other_engines_go_on(environment: Environment) -> None:
    environment.add("lost", "[agentpods.engines]\nlost = nowhere:PACKAGE\n")
    environment.add("bare", "[agentpods.engines]\nbare = bare:PACKAGE\n", "PACKAGE = 1")
    environment.add("taken", "[agentpods.engines]\npi = taken:PACKAGE\n", "PACKAGE = 1")
    there = environment.what_is_there()
    assert set(there["engines"]) <= set(OURS)
    assert "pi" in there["engines"]
    assert sorted(there["rows"]) == OURS
    problems = "\n".join(there["broken"])
    assert "the engine package lost cannot be used: ModuleNotFoundError" in problems
    assert "the engine package bare cannot be used: AttributeError" in problems
    assert "the engine package pi cannot be used: this is the id of an engine of ours" in problems


def test_what_is_not_installed_is_named() -> None:
    command = [sys.executable, "-m", "tests.conformance", "--runtime", "nobodys"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ.copy())
    assert done.returncode != 0
    assert "no runtime nobodys is installed here" in done.stderr
