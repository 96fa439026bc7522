"""`make test` runs a sample of the costly and of the generated tests; `make test-slow` runs all of them.

Where `CI` is set, coverage is measured, so all costly tests run.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict

import pytest

IS_ON = "AT_LENGTH" in os.environ
SAMPLE = 3  # hypothesis makes one of this many examples
FEWER = 5  # one of this many tests with the mark `sampled` runs
RUNS_ALL = IS_ON or "CI" in os.environ


def examples(at_length: int) -> int:
    """How many examples hypothesis makes in this run."""
    return at_length if IS_ON else -(-at_length // SAMPLE)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of each file's `sampled` tests a part runs, at least one. The seed of the run chooses, the same in each process.

    Where the command names files or directories, all tests in them run.
    """
    if RUNS_ALL or config.option.file_or_dir:
        return
    left_out = _left_out(items, seed=getattr(config.option, "randomly_seed", 0))
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _left_out(items: list[pytest.Item], *, seed: object) -> set[pytest.Item]:
    files: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            files[str(item.path)].append(item)
    return {item for found in files.values() for item in _all_but_a_part(found, seed=seed)}


def _all_but_a_part(found: list[pytest.Item], *, seed: object) -> list[pytest.Item]:
    in_order = sorted(found, key=lambda item: item.nodeid)
    random.Random(f"{seed} {in_order[0].nodeid}").shuffle(in_order)
    return in_order[-(-len(in_order) // FEWER) :]
