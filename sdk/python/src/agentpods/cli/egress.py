"""`agentpods egress`."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from agentpods import types
from agentpods.cli import asking
from agentpods.cli.session import AgentId, Json, session

app = typer.Typer(name="egress", help="Which hosts an agent may ask, and secrets for them.", no_args_is_help=True)

VARIABLE = "AGENTPODS_EGRESS_SECRET"
Hosts = Annotated[list[str], typer.Argument(help="example.com, *.example.com, either with :PORT.")]


@app.command()
def show(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """Show the list and the names of the secrets."""
    with session(ctx, as_json=as_json) as run:
        run.out.row(run.pods.api.get_agent_egress(agent)["egress"])


@app.command()
def only(ctx: typer.Context, agent: AgentId, hosts: Hosts, as_json: Json = False) -> None:
    """Let an agent ask these hosts alone, in the place of the list before."""
    with session(ctx, as_json=as_json) as run:
        run.out.row(run.pods.api.set_agent_egress(agent, {"allowList": "on", "hosts": hosts})["egress"])


@app.command("any")
def any_host(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """Let an agent ask every public host again. Secrets stay."""
    with session(ctx, as_json=as_json) as run:
        run.out.row(run.pods.api.set_agent_egress(agent, {"allowList": "off"})["egress"])


@app.command()
def secret(
    ctx: typer.Context,
    agent: AgentId,
    name: Annotated[str, typer.Argument(help="Such as GITHUB_TOKEN.")],
    host: Annotated[list[str], typer.Option(help="Where it is sent; may be repeated.")],
    header: Annotated[str, typer.Option()] = "Authorization",
    prefix: Annotated[str, typer.Option(help="What stands before it in the header, with its space.")] = "Bearer ",
    as_json: Json = False,
) -> None:
    """Add a secret to requests to some hosts. It comes from AGENTPODS_EGRESS_SECRET or the standard input."""
    with session(ctx, as_json=as_json) as run:
        value = asking.secret("secret", variable=VARIABLE, output=run.out)
        body = {"hosts": host, "header": header, "prefix": prefix, "value": value}
        told = run.pods.api.set_agent_egress_secret(agent, name, cast("types.PutEgressSecretRequest", body))
        run.out.row(next(one for one in told["egress"]["secrets"] if one["name"] == name))


@app.command()
def rm(ctx: typer.Context, agent: AgentId, name: Annotated[str, typer.Argument()], as_json: Json = False) -> None:
    """Forget a secret."""
    with session(ctx, as_json=as_json) as run:
        run.pods.api.delete_agent_egress_secret(agent, name)
        run.out.row({"name": name, "deleted": True}, "name", "deleted")


@app.command()
def log(ctx: typer.Context, agent: AgentId, as_json: Json = False) -> None:
    """List which hosts an agent asked for in the last week."""
    with session(ctx, as_json=as_json) as run:
        rows = run.pods.api.get_agent_egress_log(agent)["log"]["rows"]
        run.out.rows(rows, "day", "host", "refused", "count", "bytesSent", "bytesReceived")
