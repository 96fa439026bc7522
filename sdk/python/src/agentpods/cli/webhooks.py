"""`agentpods webhooks`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentpods._wire.files import new_file
from agentpods.cli import asking
from agentpods.cli.exits import Exit
from agentpods.cli.session import AgentId, Json, Yes, session

app = typer.Typer(name="webhooks", help="Where an agent's events are sent.", no_args_is_help=True)


@app.command("set")
def set_url(
    ctx: typer.Context,
    agent: AgentId,
    url: Annotated[str, typer.Argument()],
    secret_file: Annotated[Path, typer.Option(help="A new file for the secret, which is shown only once.")],
    as_json: Json = False,
) -> None:
    """Send an agent's events to this address, signed with a new secret."""
    with session(ctx, as_json=as_json) as run:
        if secret_file.exists() or not secret_file.parent.is_dir():
            run.out.failed(f"--secret-file: {secret_file} must be a new file in a directory that exists")
            raise typer.Exit(Exit.USAGE)
        with new_file(secret_file) as file:  # first: a secret that cannot be written would be lost
            hook = run.pods.webhooks.set(agent, url)
            file.write(hook["secret"].encode() + b"\n")
        run.out.row(hook, "url")


@app.command()
def rm(ctx: typer.Context, agent: AgentId, yes: Yes = False, as_json: Json = False) -> None:
    """Send an agent's events nowhere."""
    with session(ctx, as_json=as_json) as run:
        asking.confirmed(f"Remove the webhook of {agent}?", yes=yes, output=run.out)
        run.pods.webhooks.delete(agent)
        run.out.row({"id": agent, "webhook": None}, "id")


@app.command("test")
def send_test(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """Send a test event, and wait for the outcome. Exit code 1: it did not arrive."""
    with session(ctx, as_json=as_json) as run:
        outcome = run.pods.webhooks.test(agent)
        run.out.row(outcome, "ok", "status", "attempts", "error")
        if not outcome["ok"]:
            raise typer.Exit(Exit.REFUSED)


@app.command()
def deliveries(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """List what became of the events of the last days."""
    with session(ctx, as_json=as_json) as run:
        run.out.rows(run.pods.webhooks.deliveries(agent), "createdAt", "type", "state", "status", "attempts", "id")
