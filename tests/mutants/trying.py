"""A pytest plugin that tries mutants: it runs the tests once as they are, then a copy of this process for each mutant.

The copy (`os.fork`) has Django, the tests and the database at hand. It executes the changed source in the module's own
namespace, gives the new functions to all modules that imported the old ones, and runs the tests that reach the changed
line until one fails.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

import hypothesis
import pytest
from django.db import connections

from tests.mutants.making import Mutant, lines_of_statements, mutants_of

ROOT = Path(__file__).resolve().parents[2]
SURVIVED, KILLED, UNLOADABLE = 0, 1, 2
CPU_FACTOR, CPU_SECONDS = 4, 10  # a mutant may use this much more than the tests without one
WALL_SECONDS = 600  # for one that waits; the limit of CPU time is the same on a busy machine
MEMORY = 4 << 30
SIGNS = {"killed": ".", "survived": "S", "timeout": "T", "unloadable": "-"}

Lines = set[int]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutate", metavar="MODULE", help="a file whose mutants are tried")
    parser.addoption("--results", metavar="FILE", help="where the results are written, as JSON")
    parser.addoption("--again", action="store_true", help="only those that survived the last time")


def pytest_configure() -> None:
    """A failing example need not be made smaller, and each mutant gets the same examples."""
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    slow = list(hypothesis.HealthCheck)  # on a busy machine, a slow test is no sign of a mutant
    quick = {"deadline": None, "database": None, "derandomize": True, "phases": phases, "suppress_health_check": slow}
    hypothesis.settings.register_profile("mutants", hypothesis.settings(**quick))  # type: ignore[arg-type] # a table
    hypothesis.settings.load_profile("mutants")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    config = session.config
    trial = MutantTrial(session, ROOT / config.getoption("--mutate"))
    trial.run_unchanged()
    if session.testsfailed or session.testscollected == 0:
        raise session.Failed("the tests must pass before mutants can be tried")
    results = Path(config.getoption("--results"))
    before = json.loads(results.read_text()) if config.getoption("--again") else None
    tried = [] if before is None else [one for one in before if one["result"] != "survived"]
    known = {(one["operator"], one["occurrence"]) for one in tried}
    for mutant in mutants_of(trial.source):
        if (mutant.operator, mutant.occurrence) not in known:
            tried.append({**mutant.as_dict(), **trial.attempt(mutant)})
            config.get_terminal_writer().write(SIGNS[tried[-1]["result"]], flush=True)
            results.write_text(json.dumps(tried, indent=1))
    return True


class MutantTrial:
    """The tests of one module, and what is known about them."""

    def __init__(self, session: pytest.Session, path: Path) -> None:
        self.session = session
        self.path = path
        self.loaded = ChangedModule(path)
        self.source = path.read_text(encoding="utf-8")
        self.reached: dict[pytest.Item, Lines] = {}
        self.seconds: dict[pytest.Item, float] = {}
        self.killers: list[pytest.Item] = []  # the most recent one first

    def run_unchanged(self) -> None:
        """Run all tests once. The module is executed anew for each, so that no result in a cache hides a line."""
        for item in self.session.items:
            self.loaded.execute(self.source)
            self.reached[item] = set()
            began = time.process_time()
            with LineWatch(str(self.path), self.reached[item]):
                self._run(item)
            self.seconds[item] = time.process_time() - began

    def attempt(self, mutant: Mutant) -> dict[str, str]:
        items = self._that_reach(mutant)
        cpu = CPU_SECONDS + int(CPU_FACTOR * sum(self.seconds[item] for item in items))
        connections.close_all()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._be_child(mutant, items, cpu, writing)
        os.close(writing)
        outcome = _wait(child)
        with os.fdopen(reading, "rb") as pipe:
            killer = pipe.read().decode()
        if os.WIFSIGNALED(outcome):
            return {"result": "timeout", "by": signal.Signals(os.WTERMSIG(outcome)).name}
        if os.WEXITSTATUS(outcome) == SURVIVED:
            return {"result": "survived", "by": f"{len(items)} tests reach it"}
        if os.WEXITSTATUS(outcome) == UNLOADABLE:
            return {"result": "unloadable", "by": ""}
        item = next(item for item in items if item.nodeid == killer)
        self.killers = [item, *(other for other in self.killers if other is not item)]
        return {"result": "killed", "by": killer}

    def _that_reach(self, mutant: Mutant) -> list[pytest.Item]:
        """The tests that run the changed statement, those that kill often first. All of them for the module's level."""
        lines = lines_of_statements(self.source)[mutant.line]
        reach = [item for item in self.session.items if lines is None or self.reached[item] & lines]
        rank = {item: number for number, item in enumerate(self.killers)}
        return sorted(reach, key=lambda item: (rank.get(item, len(rank)), self.seconds[item]))

    def _run(self, item: pytest.Item) -> None:
        """Run one test; fixtures of the session stay set up."""
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=self.session)

    def _be_child(self, mutant: Mutant, items: list[pytest.Item], cpu: int, writing: int) -> NoReturn:
        code = UNLOADABLE
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + cpu, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            plugins = self.session.config.pluginmanager
            plugins.unregister(name="terminalreporter")
            self.loaded.execute(mutant.code)
            code = SURVIVED
            for item in items:
                self._run(item)
                if self.session.testsfailed:
                    os.write(writing, item.nodeid.encode())
                    code = KILLED
                    break
        finally:
            os._exit(code)


class ChangedModule:
    """A module that is imported already, and where other modules keep what they imported from it."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.module = sys.modules[".".join(path.relative_to(ROOT).with_suffix("").parts)]
        self._copies = [
            (namespace, key, name)
            for name, value in vars(self.module).items()
            if not name.startswith("__")
            for namespace, key in _keepers(self.module, name, value)
        ]

    def execute(self, code: str) -> None:
        """Give the module this code, and all other modules its new functions, classes and tables."""
        own = vars(self.module)
        exec(compile(code, self.path, "exec", dont_inherit=True), own)
        for namespace, key, name in self._copies:
            namespace[key] = own[name]
        for clear in _clearings(self.module):
            clear()


def _keepers(module: ModuleType, name: str, value: object) -> Iterator[tuple[dict[str, object], str]]:
    """The namespaces that have this value: a function or class of the module under any name, others under their own."""
    is_own = getattr(value, "__module__", None) == module.__name__
    for other in list(sys.modules.values()):
        namespace = getattr(other, "__dict__", None)
        if other is module or not isinstance(namespace, dict):
            continue
        if is_own:
            yield from ((namespace, key) for key, kept in list(namespace.items()) if kept is value)
        elif name in namespace and namespace[name] is value and not isinstance(value, ModuleType | type):
            yield namespace, name


def _clearings(module: ModuleType) -> Iterator[Callable[[], None]]:
    """What empties the caches of functions of the same room: an answer in them may hold an object of the old code."""
    room = f"{module.__name__.partition('.')[0]}."
    for other in [known for name, known in list(sys.modules.items()) if name.startswith(room)]:
        for value in list(vars(other).values()):
            if isinstance(value, functools._lru_cache_wrapper):
                yield value.cache_clear


class LineWatch:
    """Collects the lines of a file that run in the meantime, in any thread."""

    def __init__(self, path: str, lines: Lines) -> None:
        self.path = path
        self.lines = lines

    def __enter__(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        return self._line if frame.f_code.co_filename == self.path else None

    def _line(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any]:
        self.lines.add(frame.f_lineno)
        return self._line


def _wait(child: int) -> int:
    """The child's exit status; a child that waits for too long is killed with its own processes."""
    until = time.monotonic() + WALL_SECONDS
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.01)
