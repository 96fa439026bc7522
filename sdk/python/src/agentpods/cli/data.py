"""Personas and backups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentpods.cli import asking
from agentpods.cli.agents import SHORT
from agentpods.cli.session import AgentId, Json, Wait, Yes, session

app = typer.Typer()

BACKUP = ("name", "size", "createdAt")


@app.command()
def personas(
    ctx: typer.Context,
    search: Annotated[str | None, typer.Option("--search", "-s", help="Words to look for.")] = None,
    as_json: Json = False,
) -> None:
    """List the personas that an agent can be made of. Needs no key."""
    with session(ctx, as_json=as_json, needs_key=False) as run:
        run.out.rows(run.pods.api.each_of_personas(q=search or None), "id", "tier", "category", "name", "tagline")


@app.command()
def backup(
    ctx: typer.Context,
    agent: AgentId,
    to: Annotated[Path | None, typer.Option(help="Also download it to this new file.")] = None,
    as_json: Json = False,
) -> None:
    """Back an agent's data up now."""
    with session(ctx, as_json=as_json) as run:
        made = run.pods.backups.create(agent)
        if to:
            run.pods.backups.download(agent, made["name"], to)
        run.out.row(made, *BACKUP)


@app.command()
def backups(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """List an agent's backups."""
    with session(ctx, as_json=as_json) as run:
        run.out.rows(run.pods.backups.list(agent), *BACKUP)


@app.command()
def restore(
    ctx: typer.Context,
    agent: AgentId,
    name: Annotated[str, typer.Argument(help="A backup's name.")],
    yes: Yes = False,
    wait: Wait = None,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of an agent's data."""
    with session(ctx, as_json=as_json) as run:
        asking.confirmed(f"Put {name} in the place of the data of {agent}?", yes=yes, output=run.out)
        run.out.row(run.pods.backups.restore(agent, name, wait=wait), *SHORT)
