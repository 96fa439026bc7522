"""Which tests a run leaves out.

`make test` runs one of six test files, and all where CI is set. Both run a sample of the costly tests, of the cases and
of the generated ones; `make test-slow` runs all.
"""

from __future__ import annotations

import os
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import pytest

IS_ON = "AT_LENGTH" in os.environ
IS_THE_GATE = "CI" in os.environ
SAMPLE = 3  # hypothesis makes one of this many examples
FEWER = 5  # one of this many tests with the mark `sampled` runs
SIXTH = 6  # without CI, one of this many test files runs
CASES = 3  # of a test with more cases than this, so many run
Thing = TypeVar("Thing")
_run = {"is whole": IS_ON}
_MARKS_OF_A_FILE = re.compile(r"^pytestmark = (?:\[[^\]]*\]|.*)$", re.MULTILINE)


def examples(at_length: int) -> int:
    """How many examples hypothesis makes in this run."""
    return at_length if IS_ON else -(-at_length // SAMPLE)


def some(things: Sequence[Thing]) -> list[Thing]:
    """A third of these, which the seed of the run chooses. For a test that makes a costly call for each of them.

    All of them at length, and where the command names files or directories.
    """
    return list(things) if _run["is whole"] else random.sample(list(things), -(-len(things) // SAMPLE))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files of which no test would run, so that no process imports them.

    Their mark leaves them out (`-m "not engines"`), or this run without CI takes other files. Files and directories
    that the command names are imported anyway.
    """
    wanted = config.option.markexpr
    is_test = fnmatch(collection_path.name, "test_*.py")
    if not is_test or config.option.file_or_dir or not re.fullmatch(r"(not \w+( and |$))*", wanted):
        return None
    unwanted = frozenset(re.findall(r"not (\w+)", wanted))
    if _has_mark(collection_path, unwanted):
        return True
    if IS_ON or IS_THE_GATE:
        return None
    roots = tuple(config.rootpath / name for name in config.getini("testpaths") or ["."])
    return collection_path not in _every_sixth(roots, unwanted, getattr(config.option, "randomly_seed", 0)) or None


def _has_mark(path: Path, unwanted: frozenset[str]) -> bool:
    marks = _MARKS_OF_A_FILE.search(path.read_text(encoding="utf-8"))
    return marks is not None and not unwanted.isdisjoint(re.findall(r"mark\.(\w+)", marks[0]))


@lru_cache(maxsize=1)
def _every_sixth(roots: tuple[Path, ...], unwanted: frozenset[str], seed: int) -> frozenset[Path]:
    """Of all test files in their order, so that they come from all rooms. The next seed takes the next files."""
    files = sorted(path for root in roots for path in root.rglob("test_*.py") if not _has_mark(path, unwanted))
    return frozenset(files[seed % SIXTH :: SIXTH])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out a part of each file's `sampled` tests and of each test's cases.

    The seed of the run chooses, the same in each process. At least one test of a file runs. Where the command names
    files or directories, all tests in them run.
    """
    _run["is whole"] = IS_ON or bool(config.option.file_or_dir)
    if _run["is whole"]:
        return
    seed = getattr(config.option, "randomly_seed", 0)
    costly = _groups((item for item in items if item.get_closest_marker("sampled")), by=_file)
    left_out = {item for found in costly for item in _shuffled(found, seed)[-(-len(found) // FEWER) :]}
    cases = _groups((item for item in items if item not in left_out), by=_test)
    left_out |= {item for found in cases for item in _shuffled(found, seed)[CASES:]}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _file(item: pytest.Item) -> str:
    return str(item.path)


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _groups(items: Iterable[pytest.Item], *, by: Callable[[pytest.Item], str]) -> list[list[pytest.Item]]:
    groups: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        groups[by(item)].append(item)
    return list(groups.values())


def _shuffled(found: list[pytest.Item], seed: object) -> list[pytest.Item]:
    in_order = sorted(found, key=lambda item: item.nodeid)
    random.Random(f"{seed} {in_order[0].nodeid}").shuffle(in_order)
    return in_order
