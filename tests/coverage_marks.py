"""Compiles our modules once with the marks by which SlipCover sees branches, for all processes of a run.

SlipCover adds these marks to the syntax tree, so it parses and compiles each module again in each process. That is half
of what measuring costs at the start. The other half remains: each process inserts its own counters.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import slipcover
from slipcover import branch
from slipcover.importer import SlipcoverLoader, SlipcoverMetaPathFinder

ROOT = Path(__file__).resolve().parents[1]


def compile_marked(packages: Sequence[str], kept: Path) -> None:
    """Write the marked bytecode of all modules of these packages into the directory `kept`."""
    for package in packages:
        for path in (ROOT / package).rglob("*.py"):
            target = _kept(path, kept)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(marshal.dumps(_marked(path)))


def _marked(path: Path) -> CodeType:
    tree = branch.preinstrument(ast.parse(path.read_bytes()))
    return compile(tree, str(path), "exec")


def _kept(path: Path, kept: Path) -> Path:
    return kept / path.relative_to(ROOT).with_suffix(".marked")


class MarkedLoader(SlipcoverLoader):  # type: ignore[misc]
    """Loads a module from its marked bytecode, and then does what SlipCover does."""

    def __init__(self, recorder: slipcover.Slipcover, loader: Any, origin: str, *, kept: Path) -> None:
        super().__init__(recorder, loader, origin)
        self._kept = kept

    def exec_module(self, module: ModuleType) -> None:
        marked = _kept(self.origin, self._kept) if self.origin.is_relative_to(ROOT) else None
        if marked is None or not marked.exists():
            super().exec_module(module)
            return
        self.sci.register_module(module)
        exec(self.sci.instrument(marshal.loads(marked.read_bytes())), module.__dict__)  # our own


class MarkedFinder(SlipcoverMetaPathFinder):  # type: ignore[misc]
    """Finds the modules that SlipCover measures, and has them loaded from their marked bytecode."""

    def __init__(self, recorder: slipcover.Slipcover, matcher: slipcover.FileMatcher, kept: Path) -> None:
        super().__init__(recorder, matcher)
        self._kept = kept

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        spec: ModuleSpec | None = super().find_spec(fullname, path, target)
        if spec and isinstance(spec.loader, SlipcoverLoader):
            loader = spec.loader
            spec.loader = MarkedLoader(loader.sci, loader.orig_loader, str(loader.origin), kept=self._kept)
        return spec
