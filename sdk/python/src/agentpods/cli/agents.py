"""An agent's life."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from agentpods import types
from agentpods._wire.files import new_file
from agentpods._wire.watching import Goal
from agentpods._wire.words import AgentStatus
from agentpods.cli import asking
from agentpods.cli.exits import Exit
from agentpods.cli.session import AgentId, CommandRun, Json, Wait, Yes, session

app = typer.Typer()

SHORT = ("id", "status", "tier", "engine", "name")
KEY_VARIABLE = "AGENTPODS_LLM_KEY"


@app.command()
def create(
    ctx: typer.Context,
    persona: Annotated[str, typer.Argument(help="A persona's id: `agentpods personas` lists them.")],
    tier: Annotated[str, typer.Option(help="tiny, small, medium or large.")] = "tiny",
    engine: Annotated[str | None, typer.Option()] = None,
    name: Annotated[str | None, typer.Option()] = None,
    lang: Annotated[str | None, typer.Option(help="en or ru.")] = None,
    model: Annotated[str | None, typer.Option(help="PROVIDER:MODEL, as `GET /models` lists it.")] = None,
    llm_provider: Annotated[
        str | None, typer.Option(help=f"Whose model key to install; the key itself comes from {KEY_VARIABLE} or stdin.")
    ] = None,
    webhook: Annotated[str | None, typer.Option(metavar="URL", help="Needs --secret-file.")] = None,
    secret_file: Annotated[
        Path | None, typer.Option(help="A new file for the webhook's secret, which is shown only once.")
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="A repeat with the same key makes no second agent.")
    ] = None,
    wait: Wait = None,
    as_json: Json = False,
) -> None:
    """Create an agent."""
    with session(ctx, as_json=as_json) as run:
        _check_secret_file(run, webhook, secret_file)
        wanted = {"personaId": persona, "tier": tier, "engine": engine, "name": name, "lang": lang, "model": model}
        wanted |= {"llmProvider": llm_provider, "webhookUrl": webhook}
        if llm_provider:
            wanted["llmKey"] = asking.secret("model key", variable=KEY_VARIABLE, output=run.out)
        # The service checks the words itself, and its refusals name the field and what is allowed.
        body = cast("types.CreateAgentRequest", {key: value for key, value in wanted.items() if value is not None})
        with ExitStack() as files:
            # Opened first: a secret that cannot be written would be lost.
            file = files.enter_context(new_file(secret_file)) if secret_file else None
            made = run.pods.agents.create(wait=wait, idempotency_key=idempotency_key, **body)
            if file and made["webhookSecret"]:
                file.write(made["webhookSecret"].encode() + b"\n")
        run.out.row(made["agent"], *SHORT)
        if secret_file:
            run.out.note(f"The webhook's secret is in {secret_file}.")


def _check_secret_file(run: CommandRun, webhook: str | None, secret_file: Path | None) -> None:
    """Refuse what would lose the secret, before anything is made."""
    if bool(webhook) != bool(secret_file):
        run.out.failed("--webhook and --secret-file: give both, or neither")
        raise typer.Exit(Exit.USAGE)
    if secret_file and (secret_file.exists() or not secret_file.parent.is_dir()):
        run.out.failed(f"--secret-file: {secret_file} must be a new file in a directory that exists")
        raise typer.Exit(Exit.USAGE)


@app.command()
def ls(
    ctx: typer.Context,
    status: Annotated[str | None, typer.Option(help="provisioning, running, stopped or failed.")] = None,
    as_json: Json = False,
) -> None:
    """List your agents, newest first."""
    with session(ctx, as_json=as_json) as run:
        run.out.rows(run.pods.agents.list(status=cast("AgentStatus | None", status)), *SHORT)


@app.command()
def get(
    ctx: typer.Context,
    agent: AgentId,
    show_secrets: Annotated[bool, typer.Option(help="Also tokens and passwords, which are hidden otherwise.")] = False,
    as_json: Json = False,
) -> None:
    """Show an agent."""
    with session(ctx, as_json=as_json, show_secrets=show_secrets) as run:
        run.out.row(run.pods.agents.get(agent))


@app.command()
def wait(
    ctx: typer.Context,
    agent: AgentId,
    until: Annotated[
        str, typer.Option(help="running, stopped, deleted, or settled: any of them, or failed.")
    ] = "running",
    timeout: Annotated[float, typer.Option(min=0, help="Seconds.")] = 300.0,
    as_json: Json = False,
) -> None:
    """Wait until the agent has come to a status. Exit code 7: it has not."""
    with session(ctx, as_json=as_json) as run:
        if until not in {"running", "stopped", "deleted", "settled"}:
            run.out.failed(f"--until: {until} is none of running, stopped, deleted, settled")
            raise typer.Exit(Exit.USAGE)
        found = run.pods.agents.wait(agent, until=cast("Goal", until), seconds=timeout)
        run.out.row(found or {"id": agent, "status": "deleted"}, "id", "status")


@app.command()
def explain(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """Say why an agent does not answer, and what helps."""
    with session(ctx, as_json=as_json) as run:
        told = run.pods.agents.explain(agent)
        run.out.row(told) if run.out.as_json else _explained(run, told)


def _explained(run: CommandRun, told: Mapping[str, Any]) -> None:
    run.out.text(f"{told['cause']}: {told['message']}")
    for line in told["evidence"]:
        run.out.text(f"  {line}")
    if told["next"]:
        run.out.text(f"next: {told['next']}")


@app.command()
def pause(ctx: typer.Context, agent: AgentId, wait: Wait = None, as_json: Json = False) -> None:
    """Stop an agent. Its data stays."""
    with session(ctx, as_json=as_json) as run:
        run.out.row(run.pods.agents.pause(agent, wait=wait), *SHORT)


@app.command()
def resume(ctx: typer.Context, agent: AgentId, wait: Wait = None, as_json: Json = False) -> None:
    """Start a stopped agent."""
    with session(ctx, as_json=as_json) as run:
        run.out.row(run.pods.agents.resume(agent, wait=wait), *SHORT)


@app.command()
def rebuild(ctx: typer.Context, agent: AgentId, yes: Yes = False, wait: Wait = None, as_json: Json = False) -> None:
    """Build an agent's pod anew. Its data stays; it does not answer meanwhile."""
    with session(ctx, as_json=as_json) as run:
        asking.confirmed(f"Rebuild {agent}? It does not answer meanwhile.", yes=yes, output=run.out)
        run.out.row(run.pods.agents.rebuild(agent, wait=wait), *SHORT)


@app.command()
def delete(ctx: typer.Context, agent: AgentId, yes: Yes = False, wait: Wait = None, as_json: Json = False) -> None:
    """Delete an agent and its data, for good."""
    with session(ctx, as_json=as_json) as run:
        asking.confirmed(f"Delete {agent} and all of its data, for good?", yes=yes, output=run.out)
        run.pods.agents.delete(agent, wait=wait)
        run.out.row({"id": agent, "deleted": True}, "id", "deleted")
