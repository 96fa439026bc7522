"""The test modules are compiled once for all processes of a run, as pytest compiles them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiling import compile_tests

WRONG = "def test_sum():\n    total = 3\n    assert total == 2\n"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "room" / "test_sum.py"
    path.parent.mkdir()
    path.write_text(WRONG, encoding="utf-8")
    return path


def kept(module: Path) -> list[Path]:
    return list(module.parent.glob("__pycache__/*-pytest-*.pyc"))


def test_pytest_finds_what_was_compiled_and_it_explains_failures(module: Path, pytestconfig: pytest.Config) -> None:
    compile_tests(pytestconfig, module.parent)
    (compiled,) = kept(module)
    before = compiled.stat().st_mtime_ns
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sum.py"]
    quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": ""}
    run = subprocess.run(command, cwd=module.parent, env=quick, capture_output=True, text=True, check=False)
    assert "assert 3 == 2" in run.stdout
    assert compiled.stat().st_mtime_ns == before


def test_only_what_changed_is_compiled_again(module: Path, pytestconfig: pytest.Config) -> None:
    other = module.with_name("conftest.py")
    other.write_text("", encoding="utf-8")
    compile_tests(pytestconfig, module.parent)
    before = {compiled.name: compiled.stat().st_mtime_ns for compiled in kept(module)}
    module.write_text(WRONG.replace("3", "2"), encoding="utf-8")
    compile_tests(pytestconfig, module.parent)
    changed = [compiled.name for compiled in kept(module) if compiled.stat().st_mtime_ns != before[compiled.name]]
    assert len(before) == 2
    assert [name.partition(".")[0] for name in changed] == ["test_sum"]
