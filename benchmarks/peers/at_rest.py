"""A minute in which nobody asks for anything and nothing is hosted: memory and CPU of all that `make run` starts, and
of JupyterHub as its quickstart runs it. Both rest in the same minute: neither takes anything from the other.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import psutil

from benchmarks import at_rest, processes, whole_service
from benchmarks.at_rest import Resting, Trees
from benchmarks.peers import hub
from benchmarks.peers.reads import OURS
from benchmarks.peers.rows import PeerFigure
from benchmarks.processes import Program
from benchmarks.whole_service import WholeService

WHAT = "at rest, nothing hosted"
GIVEN = ("DATABASE_URL", "REDIS_URL")  # without them, `make run` brings its own


def measure() -> list[PeerFigure]:
    with ExitStack() as opened:
        service, theirs = opened.enter_context(_service()), opened.enter_context(hub.running())
        processes.wait_until_calm([Program(service.pid), theirs.program])
        trees = {OURS: at_rest.trees(service), hub.WHO: _theirs(psutil.Process(theirs.program.pid))}
        found = at_rest.measured({name: tree for programs in trees.values() for name, tree in programs.items()})
        return [
            figure
            for who, programs in trees.items()
            for figure in figures(who, [one for one in found if one.program in programs])
        ]


def figures(who: str, found: Sequence[Resting]) -> list[PeerFigure]:
    """All together, and then each program, the largest first."""
    cpu, megabytes = sum(one.cpu for one in found), sum(one.megabytes for one in found)
    largest_first = sorted(found, key=lambda one: -one.megabytes)
    return [
        PeerFigure(what=WHAT, who=who, at_rest=cpu, megabytes=megabytes),
        *(
            PeerFigure(what=WHAT, who=f"– {one.program}", at_rest=one.cpu, megabytes=one.megabytes)
            for one in largest_first
        ),
    ]


@contextmanager
def _service() -> Iterator[WholeService]:
    with tempfile.TemporaryDirectory(prefix="agentpods-rest-") as directory, mock.patch.dict(os.environ):
        for name in GIVEN:
            os.environ.pop(name, None)
        root = Path(directory)
        root.chmod(0o711)  # PostgreSQL's user must pass through
        with whole_service.running(root / "home") as service:
            yield service


def _theirs(root: psutil.Process) -> Trees:
    return {"hub": [root], "proxy": root.children(recursive=True)}
