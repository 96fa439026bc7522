"""Branch coverage of the test suite: the plugin that `make coverage` loads.

Two libraries measure. SlipCover measures the test processes and their forks (forking.py). It marks only the bytecode of
our packages, so other code is as fast as usual; with coverage.py, Python would call a function for each line of Django
too, and tests took half as long again. coverage.py measures the other programs that tests start, because SlipCover
would compile every file again there. One report combines both.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import coverage
import pytest
import slipcover

from tests.coverage_marks import MarkedFinder, compile_marked

Report = dict[str, Any]  # in SlipCover's format
Branch = tuple[int, int]  # from line, to line; 0 is the end of the function
Ran = dict[str, tuple[set[int], set[Branch]]]  # by file: lines and branches

ROOT = Path(__file__).resolve().parents[1]
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
COPY = "copy-"
_PLUGINS = "PYTEST_PLUGINS"  # `make coverage` names this plugin in this variable
_TO = "COVERAGE_TO"  # the directory where each process writes its results
_LISTS_ALL = "gw0"  # the one test process that also lists the files that nothing imports


def is_on() -> bool:
    return _TO in os.environ


def rule(name: str) -> Any:
    """A coverage rule of pyproject.toml, by coverage.py's name for it."""
    return of_programs().get_option(name)


def of_programs() -> coverage.Coverage:
    """The coverage.py object that measures started programs."""
    return coverage.Coverage(
        data_file=str(_seen() / "programs"), data_suffix=True, config_file=str(ROOT / "pyproject.toml"), messages=False
    )


def begin(*, lists_all: bool = False) -> slipcover.Slipcover:
    """Measure all modules that this process imports from now on."""
    source, omit = rule("run:source"), rule("run:omit")
    recorder = slipcover.Slipcover(
        immediate=True,
        branch=True,
        source=source if lists_all else None,
        omit=omit,
        exclude_also=rule("report:exclude_also"),
    )
    sys.meta_path.insert(0, MarkedFinder(recorder, slipcover.FileMatcher(sources=source, omit=omit), _marked()))
    return recorder


def leave(recorder: slipcover.Slipcover, name: str) -> None:
    """Write the results of this process for the report."""
    (_seen() / f"{name}.json").write_text(json.dumps(recorder.get_coverage()), encoding="utf-8")


class OfAWorker:
    """Measures this test process from before the settings are read, and the programs that it starts."""

    def __init__(self) -> None:
        os.environ.pop(_PLUGINS)  # because a test may run pytest as a program
        self._recorder = begin(lists_all=WORKER == _LISTS_ALL)
        programs = of_programs()
        # Patterns instead of packages: otherwise each program would list all our files when it ends.
        programs.set_option("run:include", [str(ROOT / package / "*") for package in rule("run:source")])
        programs.set_option("run:source", None)
        os.environ["COVERAGE_PROCESS_CONFIG"] = programs.config.serialize()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        leave(self._recorder, WORKER)


class OfTheRun:
    """Combines the results of test processes, forks and programs into one report."""

    def __init__(self) -> None:
        os.environ[_TO] = tempfile.mkdtemp(prefix="agentpods-coverage-")
        self._report: Report = {}
        compile_marked(rule("run:source"), _marked())

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        programs = of_programs()
        programs.combine()
        self._least = float(rule("report:fail_under"))
        self._report = whole(_seen(), programs.get_data())
        if self.percent < self._least and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @property
    def percent(self) -> float:
        return float(self._report["summary"]["percent_covered"])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._report:
            slipcover.print_coverage(self._report, outfile=sys.stdout, skip_covered=True)
            terminalreporter.write_line(f"Coverage: {self.percent:.2f} %; the gate is {self._least:g} %.")


def whole(seen: Path, programs: coverage.CoverageData) -> Report:
    report: Report = {}
    for path in seen.glob("gw*.json"):
        other = _read(path)
        report = slipcover.merge_coverage(report, other) if report else other
    _count_as_run(report, _by_copies(seen.glob(f"{COPY}*.json")))
    _count_as_run(report, _by_programs(programs))
    return report


def _by_copies(paths: Iterable[Path]) -> Ran:
    ran: Ran = defaultdict(lambda: (set(), set()))
    for path in paths:
        for name, file in _read(path)["files"].items():
            ran[name][0].update(file["executed_lines"])
            ran[name][1].update(map(tuple, file["executed_branches"]))
    return ran


def _by_programs(seen: coverage.CoverageData) -> Ran:
    """The lines and branches that programs ran. coverage.py writes a function's end as its negative first line."""
    return {
        str(Path(path).relative_to(ROOT)): (
            set(seen.lines(path) or ()),
            {(start, max(end, 0)) for start, end in seen.arcs(path) or ()},
        )
        for path in seen.measured_files()
    }


def _count_as_run(report: Report, ran: Ran) -> None:
    """Mark the missing lines that programs did run. Excluded lines, such as `pragma: no cover`, stay excluded."""
    found: Report = {"meta": report["meta"], "files": {}}
    for name, file in report["files"].items():
        lines, branches = ran.get(name, (set(), set()))
        found["files"][name] = {
            "executed_lines": [line for line in file["missing_lines"] if line in lines],
            "missing_lines": [],
            "executed_branches": [branch for branch in file["missing_branches"] if tuple(branch) in branches],
            "missing_branches": [],
        }
    slipcover.merge_coverage(report, found)


def _seen() -> Path:
    return Path(os.environ[_TO])


def _marked() -> Path:
    """Where the modules are, compiled for measuring."""
    return _seen() / "marked"


def _read(path: Path) -> Report:
    report: Report = json.loads(path.read_text(encoding="utf-8"))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    early_config.pluginmanager.register(OfAWorker() if WORKER else OfTheRun())
