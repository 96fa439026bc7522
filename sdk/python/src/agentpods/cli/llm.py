"""`agentpods llm`."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from agentpods.cli import asking
from agentpods.cli.agents import KEY_VARIABLE
from agentpods.cli.exits import Exit
from agentpods.cli.session import AgentId, Json, Yes, session

app = typer.Typer(name="llm", help="The model that an agent thinks with, and the key for it.", no_args_is_help=True)

SHOWN = ("id", "llmProvider", "model")
ModelName = Annotated[str, typer.Argument(metavar="PROVIDER:MODEL", help="`agentpods llm models` lists them.")]


@app.command()
def key(
    ctx: typer.Context,
    agent: AgentId,
    provider: Annotated[str, typer.Argument(help="`agentpods llm providers` lists them.")],
    model: Annotated[str | None, typer.Option(help="PROVIDER:MODEL; by default one of the provider's.")] = None,
    as_json: Json = False,
) -> None:
    """Install or replace the model key. It comes from AGENTPODS_LLM_KEY, a hidden prompt or the standard input."""
    with session(ctx, as_json=as_json) as run:
        given: Any = {"provider": provider, "key": asking.secret("model key", variable=KEY_VARIABLE, output=run.out)}
        if model:
            given["model"] = model
        run.out.row(run.pods.agents.set_llm_key(agent, **given), *SHOWN)


@app.command("model")
def choose(ctx: typer.Context, agent: AgentId, model: ModelName, as_json: Json = False) -> None:
    """Choose another model for the same key. `default` goes back to the provider's."""
    with session(ctx, as_json=as_json) as run:
        run.out.row(run.pods.agents.set_llm_key(agent, model=None if model == "default" else model), *SHOWN)


@app.command()
def rm(ctx: typer.Context, agent: AgentId, yes: Yes = False, as_json: Json = False) -> None:
    """Remove the model key. The agent then says nothing."""
    with session(ctx, as_json=as_json) as run:
        asking.confirmed(f"Remove the model key of {agent}? It then says nothing.", yes=yes, output=run.out)
        run.pods.api.delete_agent_llm_key(agent)
        run.out.row({"id": agent, "llmKey": None}, "id")


@app.command("test")
def try_out(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """Send one word to the model and back, and tell which part is silent. Exit code 1: one is."""
    with session(ctx, as_json=as_json) as run:
        told = run.pods.api.test_agent_talk(agent)["talkTest"]
        run.out.rows(told["hops"], "hop", "ok", "ms", "error")
        if not told["ok"]:
            raise typer.Exit(Exit.REFUSED)


@app.command()
def providers(ctx: typer.Context, as_json: Json = False) -> None:
    """List whose model keys can be installed. Needs no key."""
    with session(ctx, as_json=as_json, needs_key=False) as run:
        run.out.rows(run.pods.api.list_llm_providers()["llmProviders"], "id", "label")


@app.command()
def models(
    ctx: typer.Context,
    provider: Annotated[str | None, typer.Option(help="Only this provider's.")] = None,
    as_json: Json = False,
) -> None:
    """List the models. Needs no key."""
    with session(ctx, as_json=as_json, needs_key=False) as run:
        run.out.rows(run.pods.api.list_models(provider=cast("Any", provider))["models"], "id", "costTier", "label")
