"""The limits of size."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.config.conftest import ROOT

CODE = ["accounts", "agents", "billing", "catalog", "config", "examples", "pages", "sdk", "status", "tests", "webhooks"]
NOT_OURS = {"migrations", "_generated", "_sync"}  # `make sdk` writes the last two
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


def _sources() -> list[Path]:
    return [path for top in CODE for path in sorted((ROOT / top).rglob("*.py")) if not NOT_OURS & {*path.parts}]


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_files_are_rooms_not_halls() -> None:
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in _sources()}
    assert [str(path) for path, lines in lengths.items() if lines > MAX_FILE_LINES] == []


def test_functions_are_read_at_a_glance() -> None:
    found = ((path, one) for path in _sources() for one in _functions(ast.parse(path.read_text(encoding="utf-8"))))
    assert [f"{path}: {one.name}" for path, one in found if _lines(one) > MAX_FUNCTION_LINES] == []
