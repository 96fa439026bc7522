"""`agentpods keys`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from agentpods._wire.files import new_file
from agentpods.cli import asking
from agentpods.cli.amounts import number
from agentpods.cli.exits import Exit
from agentpods.cli.owning import by_owner
from agentpods.cli.session import CommandRun, Json, Yes, session

app = typer.Typer(name="keys", help="API keys. Making and revoking them needs your sign-in.", no_args_is_help=True)

SHOWN = ("id", "name", "prefix", "scopes", "agentId", "expiresAt", "lastUsedAt", "revokedAt")
FIELDS = "id,name,prefix,createdAt,lastUsedAt,revokedAt,scopes,agentId,expiresAt,spendLimitUsd,usdPerDay,usdPerMonth"
Usd = float | None
_DAYS = re.compile(r"([1-9][0-9]{0,3})d")


@app.command()
def ls(ctx: typer.Context, as_json: Json = False) -> None:
    """List your keys, newest first, revoked ones too. No scopes: a full key."""
    with session(ctx, as_json=as_json) as run:
        run.out.rows(run.pods.api.each_of_keys(fields=FIELDS), *SHOWN)


@app.command()
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    secret_file: Annotated[Path, typer.Option(help="A new file for the key, which is shown only once.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="read, operate or pay; may be repeated. Without it: a full key.")
    ] = None,
    agent: Annotated[str | None, typer.Option(metavar="AGENT", help="Only for this agent.")] = None,
    expires: Annotated[str | None, typer.Option(help="30d, or a moment: 2027-01-01T00:00:00Z.")] = None,
    spend_limit_usd: Annotated[Usd, typer.Option(parser=number, help="What its orders may cost together.")] = None,
    usd_per_day: Annotated[Usd, typer.Option(parser=number, help="What models may cost in its turns a day.")] = None,
    usd_per_month: Annotated[Usd, typer.Option(parser=number, help="The same a month.")] = None,
    as_json: Json = False,
) -> None:
    """Make a key."""
    with session(ctx, as_json=as_json) as run:
        if secret_file.exists() or not secret_file.parent.is_dir():
            run.out.failed(f"--secret-file: {secret_file} must be a new file in a directory that exists")
            raise typer.Exit(Exit.USAGE)
        wanted: dict[str, Any] = {
            "name": name,
            "scopes": scope or None,
            "agentId": agent,
            "expiresAt": _moment(expires),
        }
        wanted |= {"spendLimitUsd": spend_limit_usd, "usdPerDay": usd_per_day, "usdPerMonth": usd_per_month}
        _make(run, {field: value for field, value in wanted.items() if value is not None}, secret_file)


def _make(run: CommandRun, body: Any, secret_file: Path) -> None:
    with by_owner(run) as pods, new_file(secret_file) as file:  # first: a key that cannot be written would be lost
        made = pods.api.create_key(body)
        file.write(made["secret"].encode() + b"\n")
    run.out.row(made["key"], "id", "name", "prefix")
    run.out.note(f"The key is in {secret_file}.")


def _moment(typed: str | None) -> str | None:
    """`30d` as a moment. The service reads every other one itself."""
    days = _DAYS.fullmatch(typed or "")
    if not days:
        return typed
    return (datetime.now(UTC) + timedelta(days=int(days[1]))).strftime("%Y-%m-%dT%H:%M:%SZ")


@app.command()
def revoke(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key's id, key_…")],
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """End a key, for good."""
    with session(ctx, as_json=as_json) as run:
        asking.confirmed(f"Revoke {key}? Programs that use it are refused from now on.", yes=yes, output=run.out)
        with by_owner(run) as pods:
            pods.api.delete_key(key)
        run.out.row({"id": key, "revoked": True}, "id", "revoked")
