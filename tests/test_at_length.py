"""CI runs a part of the costly tests (`sampled`), some cases of each test, and every other test. `make test` by hand
runs a sixth of the files so.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import at_length
from tests.at_length import CASES, FEWER, SAMPLE, SIXTH, some

ROOT = Path(__file__).resolve().parents[1]
TESTS = 2 * FEWER
IN_CI = {"CI": "true"}
FILE = f"""
import pytest

@pytest.mark.sampled
@pytest.mark.parametrize("number", range({TESTS}))
def test_costly(number): pass

def test_cheap(): pass

class TestOne:
    @pytest.mark.parametrize("case", range({2 * CASES}))
    def test_of_many_cases(self, case): pass

class TestOther:
    @pytest.mark.parametrize("case", range({CASES}))
    def test_of_few_cases(self, case): pass
"""
ONE = """
import pytest

@pytest.mark.sampled
def test_the_only_costly_one(): pass
"""
# A file that no test process can import.
HEAVY = """
import pytest
pytestmark = [
    pytest.mark.heavy,
]
raise ImportError
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n  sampled: as here\n  heavy: of another target\n", encoding="utf-8"
    )
    (tmp_path / "test_ten.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "test_one.py").write_text(ONE, encoding="utf-8")
    return tmp_path


def collected(project: Path, *arguments: str, seed: int = 1, environment: Mapping[str, str] | None = None) -> set[str]:
    plugins = ["-p", "pytest_randomly", "-p", "tests.at_length"]  # the others take seconds to import
    command = [sys.executable, "-m", "pytest", *plugins, "--collect-only", "-q", *arguments]
    settings = {name: value for name, value in os.environ.items() if name not in {"AT_LENGTH", "CI", "PYTEST_PLUGINS"}}
    run = subprocess.run(
        [*command, f"--randomly-seed={seed}"],
        cwd=project,
        env={**settings, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(environment or {})},
        check=True,
        capture_output=True,
        text=True,
    )
    return set(re.findall(r"::(\S+)", run.stdout))


def begin_with(name: str, names: set[str]) -> int:
    return len([each for each in names if each.startswith(name)])


def test_ci_runs_a_part_of_each_file_at_least_one_test_and_all_that_is_not_marked(project: Path) -> None:
    names = collected(project, environment=IN_CI)
    assert {"test_cheap", "test_the_only_costly_one"} <= names
    assert begin_with("test_costly", names) == TESTS // FEWER


def test_of_many_cases_some_run_and_of_few_all(project: Path) -> None:
    names = collected(project, environment=IN_CI)
    assert begin_with("TestOne::test_of_many_cases", names) == CASES
    assert begin_with("TestOther::test_of_few_cases", names) == CASES


def test_by_hand_a_sixth_of_the_files_runs_and_six_seeds_run_them_all(project: Path) -> None:
    more = {f"test_of_{number}" for number in range(2 * SIXTH - 2)}
    for name in more:
        (project / f"{name}.py").write_text(f"def {name}(): pass", encoding="utf-8")
    runs = [collected(project, seed=seed) for seed in range(SIXTH)]
    assert sum(len(run & more) for run in runs) == len(more)
    assert more | {"test_the_only_costly_one", "test_cheap"} <= set().union(*runs)


def test_one_seed_chooses_the_same_again_and_other_seeds_choose_others(project: Path) -> None:
    assert collected(project, environment=IN_CI) == collected(project, environment=IN_CI)
    assert len({frozenset(collected(project, seed=seed, environment=IN_CI)) for seed in (2, 3, 4)}) > 1


@pytest.mark.parametrize(("arguments", "environment"), [(["test_ten.py"], {}), ([], {"AT_LENGTH": "1"})])
def test_all_run_where_a_file_is_named_or_the_run_is_at_length(
    project: Path, arguments: list[str], environment: dict[str, str]
) -> None:
    names = collected(project, *arguments, environment=environment)
    assert begin_with("test_costly", names) == TESTS
    assert begin_with("TestOne::test_of_many_cases", names) == 2 * CASES


def test_a_file_that_is_left_out_by_its_mark_is_not_imported(project: Path) -> None:
    (project / "test_heavy.py").write_text(HEAVY, encoding="utf-8")
    assert "test_the_only_costly_one" in collected(project, "-m", "not other and not heavy", environment=IN_CI)


@pytest.mark.parametrize("arguments", [["-m", "not other"], ["-m", "heavy"], ["-m", "not heavy", "test_heavy.py"]])
def test_it_is_where_its_mark_is_wanted_or_the_file_is_named(project: Path, arguments: list[str]) -> None:
    (project / "test_heavy.py").write_text(HEAVY, encoding="utf-8")
    with pytest.raises(subprocess.CalledProcessError) as stopped:
        collected(project, *arguments, environment=IN_CI)
    assert "raise ImportError" in stopped.value.stdout


@pytest.mark.parametrize("is_whole", [True, False])
def test_of_the_things_that_a_test_tries_some_are_chosen(monkeypatch: pytest.MonkeyPatch, is_whole: bool) -> None:
    monkeypatch.setitem(at_length._run, "is whole", is_whole)
    chosen = some(range(3 * SAMPLE))
    assert len(set(chosen)) == len(chosen) == (3 * SAMPLE if is_whole else 3)
    assert set(chosen) <= set(range(3 * SAMPLE))
    assert some([]) == []
