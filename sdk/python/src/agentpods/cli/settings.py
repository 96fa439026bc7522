"""An agent's plain settings, what it has learned, its term, and its page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from agentpods.cli.agents import SHORT
from agentpods.cli.exits import Exit
from agentpods.cli.session import AgentId, CommandRun, Json, session

app = typer.Typer()

MOST_SOUL = 1_000_000  # characters; the service says its own limit


@app.command()
def update(
    ctx: typer.Context,
    agent: AgentId,
    name: Annotated[str | None, typer.Option()] = None,
    lang: Annotated[str | None, typer.Option(help="en or ru.")] = None,
    timezone: Annotated[str | None, typer.Option(help="Such as Europe/Lisbon.")] = None,
    tier: Annotated[str | None, typer.Option(help="tiny, small, medium or large.")] = None,
    extra_soul: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What it is told beside its persona: a text file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Change an agent's name, language, time zone, plan, or what it is told about itself."""
    with session(ctx, as_json=as_json) as run:
        wanted: dict[str, Any] = {"name": name, "lang": lang, "timezone": timezone, "tier": tier}
        if extra_soul:
            with extra_soul.open(encoding="utf-8") as file:
                wanted["extraSoul"] = file.read(MOST_SOUL)
        changes = {field: value for field, value in wanted.items() if value is not None}
        if not changes:
            run.out.failed("nothing to change: give --name, --lang, --timezone, --tier or --extra-soul")
            raise typer.Exit(Exit.USAGE)
        run.out.row(run.pods.agents.update(agent, **changes), *SHORT)


@app.command()
def memory(
    ctx: typer.Context,
    agent: AgentId,
    name: Annotated[str | None, typer.Argument(help="Show this memory, or `soul`, in full.")] = None,
    as_json: Json = False,
) -> None:
    """List what an agent is and has learned: its soul, skills and memories."""
    with session(ctx, as_json=as_json) as run:
        told = run.pods.api.get_agent_memory(agent)["memory"]
        kept = {"soul": told["soul"], **{one["name"]: one["content"] for one in told["memories"]}}
        if name is not None:
            _whole(run, kept, name)
        elif as_json:
            run.out.row(told)
        else:
            run.out.rows(({"kind": "skill", "name": one} for one in told["skills"]), "kind", "name")
            rows = ({"kind": "text", "name": one, "size": f"{len(kept[one])} characters"} for one in kept)
            run.out.rows(rows, "kind", "name", "size")


def _whole(run: CommandRun, kept: dict[str, str], name: str) -> None:
    if name not in kept:
        run.out.failed(f"NAME: {name} is none of its texts; without a name they are listed", error="NOT_FOUND")
        raise typer.Exit(Exit.NOT_FOUND)
    run.out.event(name=name, content=kept[name])
    run.out.text(kept[name])


@app.command()
def term(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """Say what an agent runs on, and until when."""
    with session(ctx, as_json=as_json) as run:
        run.out.row(run.pods.api.get_agent_term(agent)["term"])


@app.command()
def quota(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """Say how much memory and disk an agent takes."""
    with session(ctx, as_json=as_json) as run:
        run.out.row(run.pods.api.get_agent_quota(agent)["quota"] or {"quota": None})


@app.command("open")
def open_page(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """Print a link to an agent's own page. It signs in whoever opens it: once, within a minute."""
    with session(ctx, as_json=as_json) as run:
        run.out.row(run.pods.api.create_agent_ticket(agent)["ticket"], "url")


@app.command()
def plans(ctx: typer.Context, as_json: Json = False) -> None:
    """List the plans and their prices. Needs no key."""
    with session(ctx, as_json=as_json, needs_key=False) as run:
        run.out.rows(run.pods.api.list_tiers()["tiers"], "id", "monthlyUsd", "annualUsd", "spec")


@app.command()
def engines(ctx: typer.Context, as_json: Json = False) -> None:
    """List the engines. Needs no key."""
    with session(ctx, as_json=as_json, needs_key=False) as run:
        run.out.rows(run.pods.api.list_engines()["engines"], "id", "minTier", "label")
