"""The command's root, and signing in."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from agentpods import Agentpods, __version__
from agentpods.cli import agents, asking, data, paying, talking, webhooks
from agentpods.cli.exits import Exit
from agentpods.cli.session import Json, session

app = typer.Typer(
    name="agentpods",
    help="Hosted AI agents, from the command line. Exit codes: 0 done, 1 refused, 2 wrong options, 3 no valid key, "
    "4 not found, 5 conflict, 6 unavailable, 7 not settled in time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, keys among them
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    url: Annotated[
        str | None, typer.Option(help="The service's address; else AGENTPODS_URL, else the last login's.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it and end.")
    ] = False,
) -> None:
    ctx.obj = url


@app.command()
def login(ctx: typer.Context, as_json: Json = False) -> None:
    """Store an API key, made on the account's page. It is read hidden, from AGENTPODS_API_KEY, or from stdin."""
    with session(ctx, as_json=as_json, needs_key=False) as run:
        key = asking.secret("API key", variable="AGENTPODS_API_KEY", output=run.out)
        with Agentpods(run.url, key) as pods:
            user = pods.api.get_account()["user"]
        run.credentials.store(run.url, key)
        run.out.row({"url": run.url, "user": user}, "url")


@app.command()
def logout(ctx: typer.Context, as_json: Json = False) -> None:
    """Forget the stored key. It stays valid: revoke it on the account's page."""
    with session(ctx, as_json=as_json, needs_key=False) as run:
        run.out.row({"url": run.url, "forgotten": run.credentials.forget(run.url)}, "url", "forgotten")


for part in (agents.app, talking.app, data.app, paying.app):
    app.registered_commands += part.registered_commands
app.add_typer(webhooks.app)


def run() -> None:
    """Run the command, and end with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 is no reason to fail
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
