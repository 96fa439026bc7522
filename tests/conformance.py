"""`agentpods-conformance` runs the conformance suites against an engine or a runtime of a third-party package.

The package must be installed beside Agentpods (`.venv/bin/python -m pip install …`). Arguments after `--` go to pytest.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINE_SUITE = "tests/agents/engines"
RUNTIME_SUITE = "tests/agents/runtimes/test_contract.py"


def main() -> None:
    parser = argparse.ArgumentParser(prog="agentpods-conformance", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--engine", help="the name of its entry point in agentpods.engines, or an engine of ours")
    which.add_argument("--runtime", help="the name of its entry point in agentpods.runtimes")
    parser.add_argument("pytest", nargs="*", help="options of pytest, after --")
    given = parser.parse_args()
    os.chdir(ROOT)
    command = [sys.executable, "-m", "pytest"]
    if given.engine:
        _check("agentpods.engines", given.engine, ours=_engines())
        os.environ["CONFORMANCE_ENGINE"] = given.engine
        command += [ENGINE_SUITE, "-m", "engines"]
    else:
        _check("agentpods.runtimes", given.runtime, ours=())
        os.environ["CONFORMANCE_RUNTIME"] = given.runtime
        command += [RUNTIME_SUITE]
    os.execv(sys.executable, [*command, *given.pytest])  # this program only starts pytest


def _engines() -> tuple[str, ...]:
    from agents.engines import ENGINES  # imported only when it is needed

    return tuple(ENGINES)


def _check(group: str, name: str, *, ours: tuple[str, ...]) -> None:
    known = sorted({*ours, *entry_points(group=group).names})
    if name not in known:
        sys.exit(f"no {group.removeprefix('agentpods.')[:-1]} {name} is installed here; there are: {', '.join(known)}")


if __name__ == "__main__":
    main()
