"""`agentpods api`: any call of the API, for what has no command."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from agentpods.cli.exits import Exit
from agentpods.cli.session import CommandRun, Json, session

app = typer.Typer()

MOST_BODY = 2_000_000  # characters; the service says its own limit


@app.command()
def api(
    ctx: typer.Context,
    method: Annotated[str, typer.Argument(help="GET, POST, PUT, PATCH or DELETE.")],
    path: Annotated[str, typer.Argument(help="As the service reads it: /agents?status=running")],
    body: Annotated[Path | None, typer.Option(help="A file with the JSON body; - is the standard input.")] = None,
    show_secrets: Annotated[bool, typer.Option(help="Also tokens and passwords, which are hidden otherwise.")] = False,
    as_json: Json = False,
) -> None:
    """Make any call of the API: channels, tools, domains, orders. The service's /docs lists them."""
    with session(ctx, as_json=as_json, show_secrets=show_secrets, needs_key=False) as run:
        told = run.pods.call(method.upper(), path, body=_json(run, body) if body else None)
        if told is not None:
            run.out.row(told)


def _json(run: CommandRun, path: Path) -> Any:
    if str(path) == "-":
        text = sys.stdin.read(MOST_BODY + 1)
    else:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_BODY + 1)
    try:
        told = json.loads(text) if len(text) <= MOST_BODY else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        run.out.failed(f"--body: must be a JSON object of at most {MOST_BODY} characters")
        raise typer.Exit(Exit.USAGE)
    return told
