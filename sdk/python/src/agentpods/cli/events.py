"""`agentpods events`."""

from __future__ import annotations

from typing import Annotated

import typer

from agentpods._wire.sse import ServerEvent
from agentpods.cli.session import CommandRun, Json, session

app = typer.Typer()

SHOWN = ("createdAt", "type", "agentId", "agentName", "id")


@app.command()
def events(
    ctx: typer.Context,
    agent: Annotated[str | None, typer.Argument(metavar="[AGENT]", help="Without it: those of all agents.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    after: Annotated[
        str | None, typer.Option(metavar="EVENT", help="Only what came after the one with this id.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List what happened in thirty days, oldest first: what a webhook gets, deleted agents' events too."""
    with session(ctx, as_json=as_json) as run:
        if not follow:
            for event in run.pods.events.list(agent, after=after):
                _show(run, dict(event))
            return
        for one in run.pods.events.follow(agent, after=after):
            _end(run, one) if one.name == "end" else _show(run, one.data)


def _show(run: CommandRun, event: dict[str, object]) -> None:
    agent = event.get("agent")
    about = {"agentId": agent.get("id"), "agentName": agent.get("name")} if isinstance(agent, dict) else {}
    run.out.row(event if run.out.as_json else {**event, **about}, *SHOWN)


def _end(run: CommandRun, end: ServerEvent) -> None:
    run.out.event(type="end", message=end.data.get("message"))
    run.out.note(f"({end.data.get('message')})")
