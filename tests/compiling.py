"""Compiles all test modules before the processes of a run start. Otherwise each process compiles all of them.

pytest rewrites the assertions of a module when the module is imported, and keeps the result in a file. The processes of
a run import the same modules at the same time, so none of them would find a file of another.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.assertion import rewrite

TESTS = Path(__file__).resolve().parent


def compile_tests(config: pytest.Config, tests: Path = TESTS) -> None:
    """Compile the test modules and conftests that changed, as pytest's import does."""
    state = config.stash[rewrite.assertstate_key]
    for path in [*tests.rglob("test_*.py"), *tests.rglob("conftest.py")]:
        kept = rewrite.get_cache_dir(path)
        compiled = kept / (path.name[:-3] + rewrite.PYC_TAIL)
        if rewrite._read_pyc(path, compiled) is None and rewrite.try_makedirs(kept):
            source, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, source, compiled)
