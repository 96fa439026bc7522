"""One run of the command: a client, an output, and an exit code for each error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from agentpods import Agentpods, errors
from agentpods.cli import exits
from agentpods.cli.credentials import Credentials
from agentpods.cli.output import Output

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line. Nothing is ever asked.")]
Wait = Annotated[int | None, typer.Option(min=1, max=60, help="Seconds to wait until the agent has settled.")]
AgentId = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id, agt_…")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@dataclass(frozen=True)
class CommandRun:
    """What a command works with."""

    pods: Agentpods
    out: Output
    credentials: Credentials
    url: str


@contextmanager
def session(
    ctx: typer.Context, *, as_json: bool, show_secrets: bool = False, needs_key: bool = True
) -> Iterator[CommandRun]:
    """A client for one command. An error of the client ends the program with its exit code."""
    output, credentials = Output(as_json=as_json, show_secrets=show_secrets), Credentials()
    url = credentials.url(ctx.obj)
    key = credentials.key(url)
    if needs_key and not key:
        output.failed(f"no key for {url}: run `agentpods login`, or set AGENTPODS_API_KEY", error="UNAUTHORIZED")
        raise typer.Exit(exits.Exit.CREDENTIAL)
    with _told(output), Agentpods(url, key) as pods:
        yield CommandRun(pods, output, credentials, url)


@contextmanager
def _told(output: Output) -> Iterator[None]:
    try:
        yield
    except errors.ApiError as error:
        known = {"status": error.status, "requestId": error.request_id, "retryAfter": error.retry_after}
        output.failed(error.message if output.as_json else str(error), error=error.error, **known)
        raise typer.Exit(exits.of(error)) from None
    except (errors.AgentpodsError, ValueError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output has ended
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from None
        output.failed(str(error))
        raise typer.Exit(exits.of(error)) from None
    except (
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:  # what came has not the fields that the commands read
        output.failed(f"the answer is of another shape ({error!r}): is the address right, and this command new enough?")
        raise typer.Exit(exits.Exit.UNAVAILABLE) from None
