"""Questions and secrets. With `--json`, or without a terminal, nothing is asked."""

from __future__ import annotations

import os
import sys

import typer

from agentpods.cli.exits import Exit
from agentpods.cli.output import Output

MOST_SECRET = 100_000  # characters


def may_ask(output: Output) -> bool:
    return not output.as_json and sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(question: str, *, yes: bool, output: Output) -> None:
    """Go on if the person says so. Ends the program otherwise."""
    if yes:
        return
    if not may_ask(output):
        output.failed("--yes: is needed where nobody can be asked")
        raise typer.Exit(Exit.USAGE)
    if not typer.confirm(question, err=True):
        output.note("Nothing was changed.")
        raise typer.Exit(Exit.REFUSED)


def is_given(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


def secret(name: str, *, variable: str, output: Output) -> str:
    """A secret from its environment variable, a hidden prompt, or the standard input: never from argv."""
    found = os.environ.get(variable, "")
    if not found and may_ask(output):
        found = typer.prompt(name, hide_input=True, err=True)
    elif not found and not sys.stdin.isatty():
        found = sys.stdin.read(MOST_SECRET)
    if not found.strip():
        output.failed(f"{name}: give it in {variable} or on the standard input")
        raise typer.Exit(Exit.USAGE)
    return found.strip()
