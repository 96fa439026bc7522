"""The command's root, and signing in."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from agentpods import Agentpods, __version__
from agentpods.cli import (
    agents,
    asking,
    data,
    egress,
    events,
    keys,
    limits,
    llm,
    paying,
    raw,
    settings,
    talking,
    webhooks,
)
from agentpods.cli.exits import Exit
from agentpods.cli.session import CommandRun, Json, session
from agentpods.cli.signing_in import BrowserSignIn

KEY_VARIABLE = "AGENTPODS_API_KEY"

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
def login(
    ctx: typer.Context,
    browser: Annotated[
        bool | None,
        typer.Option(
            "--browser/--key",
            help="Sign in on the service's page, or read a key: hidden, from AGENTPODS_API_KEY, or from stdin. "
            "By default the page, where a person can be asked and the variable is not set.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Get a key by signing in with a browser, or store one that was made on the account's page."""
    with session(ctx, as_json=as_json, needs_key=False) as run:
        by_browser = asking.may_ask(run.out) and not asking.is_given(KEY_VARIABLE) if browser is None else browser
        key = _by_browser(run) if by_browser else asking.secret("API key", variable=KEY_VARIABLE, output=run.out)
        with Agentpods(run.url, key) as pods:
            user = pods.api.get_account()["user"]
        run.credentials.store(run.url, key)
        run.out.row({"url": run.url, "user": user}, "url")


def _by_browser(run: CommandRun) -> str:
    with BrowserSignIn(run.url) as signing_in:
        given = signing_in.begin()
        run.out.event(verificationUri=given.page, userCode=given.shown)
        run.out.note(f"Open {given.page} and type the code {given.shown}. Waiting for you …")
        return signing_in.key(given)


@app.command()
def logout(ctx: typer.Context, as_json: Json = False) -> None:
    """Forget the stored key. It stays valid: revoke it on the account's page."""
    with session(ctx, as_json=as_json, needs_key=False) as run:
        run.out.row({"url": run.url, "forgotten": run.credentials.forget(run.url)}, "url", "forgotten")


PARTS = {
    "An agent's life": (agents.app,),
    "Talk and watch": (talking.app, events.app),
    "Settings and data": (settings.app, data.app),
    "Money": (limits.usage_app, paying.app),
    "Everything else": (raw.app,),
}
for title, parts in PARTS.items():
    for part in parts:
        for one in part.registered_commands:
            one.rich_help_panel = title
            app.registered_commands.append(one)
for group in (llm.app, limits.app, keys.app, webhooks.app, egress.app):
    app.add_typer(group, rich_help_panel="Groups of commands")


def run() -> None:
    """Run the command, and end with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 is no reason to fail
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
