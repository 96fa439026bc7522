"""`?dryRun=true`: a call that writes is checked and answered as always, and nothing is changed.

The action runs in a transaction that is rolled back: no row stays, and what waits for the commit (tasks, mails) is
never begun. Nobody else is asked: a check at another service is left out and named in `Dry-Run-Skipped`, and an action
that is nothing without such a service refuses a dry run (`ApiViewSet.no_dry_run`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TypeVar

from django.db import transaction
from django.http import QueryDict

from config.errors import BadRequest

PARAMETER = "dryRun"
HEADER = "Dry-Run"
SKIPPED = "Dry-Run-Skipped"
COST = "Dry-Run-Cost"
SHOWN_CHARACTERS = 40
_IN_BODIES = frozenset({PARAMETER, "dry_run", "dryrun", "dry-run"})

Answer = TypeVar("Answer")

_skipped: ContextVar[list[str] | None] = ContextVar("dry_run_skipped", default=None)


class NoDryRun(BadRequest):
    """This action cannot be tried without doing it."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{PARAMETER}: this call cannot be tried without doing it: {why}")


def is_asked(query: QueryDict) -> bool:
    """Whether the caller wants to try only.

    Anything that somebody may have written for that is refused: they would not want it done. Raises BadRequest.
    """
    for name in query:
        if name != PARAMETER and _plain(name).endswith(_plain(PARAMETER)):
            raise BadRequest(f"{_short(name)}: the parameter's name is {PARAMETER}")
    given = query.getlist(PARAMETER)
    if wrong := [value for value in given if value not in {"true", "false"}]:
        raise BadRequest(f"{PARAMETER}: {_short(wrong[0])!r} is not one of true, false")
    if len(set(given)) > 1:
        raise BadRequest(f"{PARAMETER}: was given as true and as false")
    return given[:1] == ["true"]


def refuse_in_body(body: Mapping[str, object]) -> None:
    """Refuse a body that asks for a dry run: ignored, the call would be done. Raises BadRequest."""
    if named := body.keys() & _IN_BODIES:
        raise BadRequest(f"{min(named)}: stands in the address, not in the body: ?{PARAMETER}=true")


def tried(action: Callable[[], Answer]) -> tuple[Answer, list[str]]:
    """Do the action, take all of it back, and return its result with the checks that were left out."""
    token = _skipped.set([])
    try:
        with transaction.atomic():
            result = action()
            transaction.set_rollback(True)
        return result, list(dict.fromkeys(_skipped.get() or []))
    finally:
        _skipped.reset(token)


def is_on() -> bool:
    return _skipped.get() is not None


def skips(check: str) -> bool:
    """Whether a check at another service must be left out. If so, the answer names it: `llmKey (its provider)`."""
    skipped = _skipped.get()
    if skipped is None:
        return False
    skipped.append(check)
    return True


def refuse(what: str) -> None:
    """Refuse a dry run that is about to ask another service. Raises NoDryRun."""
    if is_on():
        raise NoDryRun(what)


def _plain(name: str) -> str:
    """The letters of the name, without what a form, a shell or an escape (`&amp;dryRun=true`) put beside them."""
    return "".join(filter(str.isalpha, name)).lower()


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
