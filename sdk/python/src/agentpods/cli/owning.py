"""Calls that only a signed-in person may make: those about API keys. No key makes keys or raises its own limit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from agentpods import Agentpods
from agentpods.cli import asking
from agentpods.cli.exits import Exit
from agentpods.cli.session import CommandRun

VARIABLE = "AGENTPODS_SESSION"
KEY_BEGINS = "ak_"


@contextmanager
def by_owner(run: CommandRun) -> Iterator[Agentpods]:
    """A client with a session token: from AGENTPODS_SESSION, or of a sign-in by a mailed code, which ends with it."""
    given = os.environ.get(VARIABLE, "").strip()
    if not given and not run.credentials.key(run.url).startswith(KEY_BEGINS):
        yield run.pods  # AGENTPODS_API_KEY is a session token
    elif given:
        with Agentpods(run.url, given) as pods:
            yield pods
    elif asking.may_ask(run.out):
        with Agentpods(run.url, _signed_in(run)) as pods:
            try:
                yield pods
            finally:
                pods.api.end_session()
    else:
        run.out.failed(f"only a signed-in person may do that, no key: give a session token in {VARIABLE}, or run it in "
                       "a terminal, where a code is mailed to you", error="FORBIDDEN")  # fmt: skip
        raise typer.Exit(Exit.CREDENTIAL)


def _signed_in(run: CommandRun) -> str:
    email = run.pods.api.get_account()["user"]["email"]
    asking.confirmed(f"No key may do that. Mail a code to {email}?", yes=False, output=run.out)
    run.pods.api.request_sign_in_code({"email": email})
    code = typer.prompt("The code", hide_input=True, err=True)
    return run.pods.api.verify_sign_in_code({"email": email, "code": code.strip()})["token"]
