"""What models cost: `agentpods usage` and `agentpods limits`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

import typer

from agentpods import types
from agentpods.cli.amounts import number, whole
from agentpods.cli.exits import Exit
from agentpods.cli.owning import by_owner
from agentpods.cli.session import AgentId, CommandRun, Json, session

app = typer.Typer(name="limits", help="What models may cost: of an agent, a key, or the account.", no_args_is_help=True)
usage_app = typer.Typer()

BY = {"day": ("day",), "model": ("model",), "session": ("kind", "session"), "key": ("keyName", "keyId")}
FIGURES = ("calls", "inputTokens", "outputTokens", "usd")
NONE = "none"

Target = Annotated[str | None, typer.Argument(metavar="[AGENT]", help="The agent's id, agt_…")]
OfKey = Annotated[str | None, typer.Option("--key", metavar="KEY", help="Of this API key instead, key_…")]
OfAccount = Annotated[bool, typer.Option("--account", help="Of all agents of the account together.")]
Amount = Annotated[str | None, typer.Option(metavar="NUMBER", help="`none` takes the limit away.")]


@usage_app.command()
def usage(
    ctx: typer.Context,
    agent: AgentId,
    by: Annotated[str, typer.Option(help="day, model, session or key.")] = "day",
    since: Annotated[str | None, typer.Option("--from", metavar="DAY", help="2026-11-01; else this month.")] = None,
    to: Annotated[str | None, typer.Option(metavar="DAY", help="The last day.")] = None,
    as_json: Json = False,
) -> None:
    """Tell what an agent's model calls took: tokens and USD."""
    with session(ctx, as_json=as_json) as run:
        if by not in BY:
            run.out.failed(f"--by: {by} is none of {', '.join(BY)}")
            raise typer.Exit(Exit.USAGE)
        told = run.pods.api.get_agent_usage(agent, by=cast("Any", by), from_=since, to=to)["usage"]
        if as_json:
            run.out.row(told)
            return
        run.out.rows(told["rows"], *BY[by], *FIGURES)
        run.out.note("(there are more rows: choose fewer days)" if told["hasMore"] else _about(told))


def _about(told: types.ModelCosts) -> str:
    """The sums, and what makes them uncertain."""
    total = told["total"]
    usd = "no call has a price" if total["usd"] is None else f"{total['usd']:.6f} USD"
    words = f"{told['from']} to {told['to']}: {total['calls']} calls, {usd}"
    unsure = {"estimated": total["estimatedCalls"], "without a price": total["unpricedCalls"]}
    return words + "".join(f", {count} {name}" for name, count in unsure.items() if count)


@app.command()
def show(
    ctx: typer.Context, agent: Target = None, key: OfKey = None, account: OfAccount = False, as_json: Json = False
) -> None:
    """Show the limits; null is none. Of a key also what it spent."""
    with session(ctx, as_json=as_json) as run:
        _one_of(run, agent, key, account=account)
        run.out.row(_present(run, agent, key))


@app.command("set")
def put(
    ctx: typer.Context,
    agent: Target = None,
    key: OfKey = None,
    account: OfAccount = False,
    usd_per_day: Amount = None,
    usd_per_month: Amount = None,
    tokens_per_turn: Amount = None,
    requests_per_minute: Amount = None,
    stop: Annotated[bool | None, typer.Option("--stop/--go", help="Refuse every model call, or no more.")] = None,
    as_json: Json = False,
) -> None:
    """Set the limits that you name. Others stay as they are. Those of a key need your sign-in, not a key."""
    with session(ctx, as_json=as_json) as run:
        _one_of(run, agent, key, account=account)
        numbers = {"usdPerDay": usd_per_day, "usdPerMonth": usd_per_month}
        numbers |= {"tokensPerTurn": tokens_per_turn, "requestsPerMinute": requests_per_minute}
        changes = {name: _number(run, name, value) for name, value in numbers.items() if value is not None}
        changes |= {} if stop is None else {"stopped": stop}
        if not changes:
            run.out.failed("nothing to set: give --usd-per-day, --usd-per-month, --tokens-per-turn, --stop …")
            raise typer.Exit(Exit.USAGE)
        present = _present(run, agent, key)
        _known(run, changes, present)
        # The service takes all limits at once.
        whole: Any = {name: one for name, one in present.items() if name not in {"usdToday", "usdThisMonth"}} | changes
        run.out.row(_replaced(run, agent, key, whole))


def _one_of(run: CommandRun, agent: str | None, key: str | None, *, account: bool) -> None:
    if [bool(agent), bool(key), account].count(True) != 1:
        run.out.failed("give one of AGENT, --key KEY, --account")
        raise typer.Exit(Exit.USAGE)


def _number(run: CommandRun, name: str, typed: str) -> float | int | None:
    if typed == NONE:
        return None
    try:
        return number(typed) if name.startswith("usd") else whole(typed)
    except ValueError:
        run.out.failed(f"{name}: {typed} is no number, and not `{NONE}`")
        raise typer.Exit(Exit.USAGE) from None


def _known(run: CommandRun, changes: Mapping[str, object], present: Mapping[str, object]) -> None:
    for name in changes:
        if name not in present:
            run.out.failed(f"{name}: is no limit of this; there are {', '.join(present)}")
            raise typer.Exit(Exit.USAGE)


def _present(run: CommandRun, agent: str | None, key: str | None) -> Mapping[str, Any]:
    if agent:
        return run.pods.api.get_agent_limits(agent)["limits"]
    return run.pods.api.get_key_limits(key)["limits"] if key else run.pods.api.get_account_limits()["limits"]


def _replaced(run: CommandRun, agent: str | None, key: str | None, whole: Any) -> Mapping[str, Any]:
    if agent:
        return run.pods.api.set_agent_limits(agent, whole)["limits"]
    if not key:
        return run.pods.api.set_account_limits(whole)["limits"]
    with by_owner(run) as pods:
        return pods.api.set_key_limits(key, whole)["limits"]
