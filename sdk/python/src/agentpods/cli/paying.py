"""`agentpods pay`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

import typer

from agentpods.cli import asking
from agentpods.cli.exits import Exit
from agentpods.cli.session import AgentId, CommandRun, Json, session

app = typer.Typer()

LICENCE_VARIABLE = "AGENTPODS_LICENCE_KEY"
LICENCES = ("gumroad", "lemonsqueezy")

Body = dict[str, Any]


def _crypto(run: CommandRun, body: Body, asset: str) -> Mapping[str, Any]:
    return run.pods.api.create_crypto_order(cast("Any", body | {"asset": asset}))


def _stars(run: CommandRun, body: Body, _: str) -> Mapping[str, Any]:
    return run.pods.api.create_stars_order(cast("Any", body))


def _stripe(run: CommandRun, body: Body, _: str) -> Mapping[str, Any]:
    return run.pods.api.create_stripe_order(cast("Any", body))


def _licence(run: CommandRun, body: Body, provider: str) -> Mapping[str, Any]:
    key = asking.secret("licence key", variable=LICENCE_VARIABLE, output=run.out)
    return run.pods.api.create_subscription(cast("Any", body | {"provider": provider, "licenseKey": key}))


WAYS: dict[str, Callable[[CommandRun, Body, str], Mapping[str, Any]]] = {
    "usdt": _crypto,
    "usdc": _crypto,
    "stars": _stars,
    "stripe": _stripe,
    **dict.fromkeys(LICENCES, _licence),
}


@app.command()
def pay(
    ctx: typer.Context,
    agent: AgentId,
    way: Annotated[
        str, typer.Option("--with", help=f"{', '.join(WAYS)}: `GET /payment-providers` lists what is sold here.")
    ],
    period: Annotated[str, typer.Option(help="monthly or annual.")] = "monthly",
    tier: Annotated[str | None, typer.Option(help="Another plan than the agent's.")] = None,
    as_json: Json = False,
) -> None:
    """Order a period for an agent: says where to send money, or which page to open.

    With a licence's provider the licence is used at once; its key comes from AGENTPODS_LICENCE_KEY, a hidden prompt
    or the standard input.
    """
    with session(ctx, as_json=as_json) as run:
        if way not in WAYS:
            run.out.failed(f"--with: {way} is none of {', '.join(WAYS)}")
            raise typer.Exit(Exit.USAGE)
        body = {"agentId": agent, "period": period, **({"tier": tier} if tier else {})}
        made = WAYS[way](run, body, way)
        if run.out.as_json:
            run.out.row(made)
        else:
            run.out.row(made.get("payment") or made.get("subscription") or made)
