"""The mutants of a source text: each has one change."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tests.mutants.operators import in_annotation, operators, within


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    operator: str
    occurrence: int
    line: int  # of the change, from 1
    code: str
    diff: str

    def as_dict(self) -> dict[str, str | int]:
        return {name: value for name, value in asdict(self).items() if name != "code"}


def mutants_of(source: str) -> Iterator[Mutant]:
    """All mutants that are a program: some changes give no Python, and some give the same text.

    The arguments of decorators stay: no customer sees whether a dataclass is frozen, or how large a cache is.
    """
    nodes = list(ast_nodes(get_ast(source)))
    seen = {source}
    for operator in operators():
        positions = [(node, begin) for node in nodes for begin, _ in operator.mutation_positions(node)]
        for occurrence, (node, (line, _)) in enumerate(positions):
            if within(node, "decorator") or in_annotation(node):
                continue
            code = mutate_code(source, operator, occurrence)
            if code in seen or not _compiles(code):
                continue
            seen.add(code)
            name = type(operator).__name__
            yield Mutant(operator=name, occurrence=occurrence, line=line, code=code, diff=_diff(source, code))


def lines_of_statements(source: str) -> dict[int, set[int] | None]:
    """For each line the lines that show that its statement ran. None where the import runs it.

    The decorators and the signature of a function count as run by whatever runs the function.
    """
    tree = ast.parse(source)
    found: dict[int, set[int] | None] = dict.fromkeys(range(1, len(source.splitlines()) + 2))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        body = {line for one in function.body for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
        first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
        found |= dict.fromkeys(range(first, function.body[0].lineno), body)
        for one in ast.walk(function):
            if isinstance(one, ast.stmt) and one is not function:
                found |= _lines_of(one)
    return found


def _lines_of(statement: ast.stmt) -> dict[int, set[int] | None]:
    """The lines of the statement itself, without those of its body."""
    inner = getattr(statement, "body", None)
    end = inner[0].lineno - 1 if inner else statement.end_lineno or statement.lineno
    lines = set(range(statement.lineno, max(end, statement.lineno) + 1))
    return dict.fromkeys(lines, lines)


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _diff(before: str, after: str) -> str:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))
    return "\n".join(lines[2:])
