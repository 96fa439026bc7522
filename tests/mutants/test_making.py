"""Which mutants are made, and that the lists of modules and of harmless mutants name what is there."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from cosmic_ray.mutating import mutate_code

from tests.mutants.making import lines_of_statements, mutants_of
from tests.mutants.operators import RemoveElement, RemoveStatement, ReplaceArgumentWithNone

ROOT = Path(__file__).resolve().parents[2]
MODULES = tomllib.loads((ROOT / "tests/mutants/modules.toml").read_text())
HARMLESS = tomllib.loads((ROOT / "tests/mutants/harmless.toml").read_text())

SOURCE = """
LIMIT = 5

@cached(size=3)
def is_over(x: int | None) -> bool:
    if x > LIMIT:
        tell(x, why="over")
        return True
    return False
"""


@pytest.mark.parametrize("operator", [RemoveStatement, RemoveElement, ReplaceArgumentWithNone])
def test_each_operator_of_ours_changes_what_it_says(operator: Any) -> None:
    for example in operator.examples():
        assert mutate_code(example.pre_mutation_code, operator(), example.occurrence) == example.post_mutation_code


def test_each_mutant_has_one_change_and_none_is_in_an_annotation_or_a_decorators_arguments() -> None:
    changed = [[line for line in one.diff.splitlines() if line[0] in "+-"] for one in mutants_of(SOURCE)]
    assert all(len(lines) in {1, 2} for lines in changed)
    assert ["-", "-@cached(size=3)"] in changed
    assert ["-LIMIT = 5", "+LIMIT = 6"] in changed
    assert ["-    if x > LIMIT:", "+    if x <= LIMIT:"] in changed
    assert ['-        tell(x, why="over")', "+        pass"] in changed
    assert not [lines for lines in changed if lines[-1].startswith(("+@cached", "+def"))]


def test_a_test_reaches_a_statement_when_it_runs_one_of_its_lines() -> None:
    reached = lines_of_statements(SOURCE)
    assert reached[2] is None, "a constant of the module is reached by every test"
    assert reached[4] == reached[5] == {6, 7, 8, 9}, "decorators and signature by those that run the function"
    assert (reached[6], reached[7], reached[9]) == ({6}, {7}, {9})


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_their_tests_are_there(name: str) -> None:
    for path in [MODULES[name]["file"], *MODULES[name]["tests"]]:
        assert (ROOT / path).exists()


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_mutant_is_of_a_line_that_is_there_and_has_a_reason(name: str) -> None:
    lines = {line.strip() for line in (ROOT / MODULES[name]["file"]).read_text().splitlines()}
    for one in HARMLESS[name]:
        assert one["line"] in lines
        assert one["why"]
