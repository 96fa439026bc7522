"""Conversations, what an agent did, and logs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, cast

import typer

from agentpods import ChatDelta, ChatDone, ChatPart
from agentpods._generated.types import ReplayEntry
from agentpods._wire.words import LogSource, ReplayKind
from agentpods.cli import asking
from agentpods.cli.exits import Exit
from agentpods.cli.session import AgentId, CommandRun, Json, session

app = typer.Typer()

DONE = ("at", "kind", "door", "session", "durationMs", "about")
MOST_CHARACTERS = 1_000_000  # of a message on the standard input; the service says its own limit


@app.command()
def talk(
    ctx: typer.Context,
    agent: AgentId,
    message: Annotated[str | None, typer.Argument(help="Without it: the standard input, or a conversation.")] = None,
    session_id: Annotated[str | None, typer.Option("--session", help="The conversation to go on with.")] = None,
    as_json: Json = False,
) -> None:
    """Talk to an agent. The reply is shown while it comes."""
    with session(ctx, as_json=as_json) as run:
        for said in _messages(run, message):
            session_id = _turn(run, agent, said, session_id)
        run.out.note(f"Go on with: --session {session_id}")


def _messages(run: CommandRun, message: str | None) -> Iterator[str]:
    if message is not None:
        yield message
    elif asking.may_ask(run.out):
        run.out.note("Ctrl-D ends the conversation.")
        while line := _line():
            yield line
    elif sys.stdin.isatty():
        run.out.failed("MESSAGE: is missing")
        raise typer.Exit(Exit.USAGE)
    else:
        text = sys.stdin.read(MOST_CHARACTERS + 1)
        if len(text) > MOST_CHARACTERS:
            run.out.failed(f"the standard input has more than {MOST_CHARACTERS} characters")
            raise typer.Exit(Exit.USAGE)
        yield text


def _line() -> str:
    """The next line that somebody types, or nothing at the end."""
    while True:
        typer.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line or line.strip():
            return line.strip()


def _turn(run: CommandRun, agent: str, message: str, session_id: str | None) -> str:
    """One turn; returns its conversation."""
    for event in run.pods.agents.stream(agent, message, session_id=session_id):
        match event:
            case ChatDelta(text):
                run.out.event(type="delta", text=text)
                run.out.text(text, end="")
            case ChatPart(part):
                run.out.event(type="part", part=part)
                run.out.note(f"[a {part.get('kind', 'part')} beside the words: read it with --json]")
            case ChatDone(reply, session_id):
                run.out.event(type="done", reply=reply, sessionId=session_id)
                run.out.text("")
                if not reply:
                    run.out.note(f"It said nothing: `agentpods explain {agent}` says why.")
    return session_id or ""


@app.command()
def replay(
    ctx: typer.Context,
    agent: AgentId,
    session_id: Annotated[str | None, typer.Option("--session", help="Only this conversation.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="turn.began, model.call, tool.call, turn.ended, turn.failed or not.kept.")
    ] = None,
    since: Annotated[str | None, typer.Option("--from", help="Not before this moment: 2026-11-28T06:00:00Z.")] = None,
    to: Annotated[str | None, typer.Option(help="Not after this moment.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many entries, the newest first.")] = 100,
    as_json: Json = False,
) -> None:
    """Tell what an agent did: turns, model calls, tools, costs and errors of 30 days, newest first."""
    with session(ctx, as_json=as_json) as run:
        entries = run.pods.api.each_of_agent_replay(
            agent, session=session_id, kind=cast("ReplayKind | None", kind), from_=since, to=to, limit=min(limit, 1_000)
        )
        for entry in islice(entries, limit):
            run.out.row(entry, *DONE) if as_json else run.out.row({**entry, "about": _about(entry)}, *DONE)


def _about(entry: ReplayEntry) -> str:
    """One line of what an entry is about, for people."""
    cost = f"{entry['usd']:.6f} USD" if entry["usd"] is not None else None
    count = f"{entry['count']} more not kept" if entry["count"] else None
    model = entry["model"] if entry["kind"] == "model.call" else None
    told = (entry["tool"], entry["arguments"], model, cost, entry["cause"], entry["error"], entry["asked"])
    return " | ".join(str(one) for one in (*told, entry["answered"], count) if one)


@app.command()
def logs(
    ctx: typer.Context,
    agent: AgentId,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="How many of the newest lines.")] = None,
    source: Annotated[str | None, typer.Option(help="engine, bridge or gateway.")] = None,
    as_json: Json = False,
) -> None:
    """Read what an agent's pod says."""
    with session(ctx, as_json=as_json) as run:
        only = cast("LogSource | None", source)
        if follow:
            _follow(run, agent, only)
            return
        page = run.pods.agents.logs(agent, limit=limit, source=only)
        if page["gap"]:
            run.out.note("(earlier lines are not kept any more)")
        run.out.rows(page["logs"], "time", "source", "level", "text")


def _follow(run: CommandRun, agent: str, source: LogSource | None) -> None:
    for event in run.pods.agents.follow_logs(agent, source=source):
        if event.name == "log":
            run.out.row(event.data, "time", "source", "level", "text")
        elif event.name == "state":
            run.out.note(f"({event.data.get('status')})")
        else:
            run.out.note(f"({event.data.get('message')})")
