"""Writes rows of the audit log. All texts are cut and lose invisible characters first."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from django.db.models import Model
from django.utils import timezone

from config.audit.models import AuditEntry

Change = tuple[str, str, str]  # the name of a field, the old and the new value

MOST_CHANGES = 100
LONGEST_NAME, LONGEST_VALUE, LONGEST_REASON = 100, 500, 4_000
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control and format characters can hide or turn around what follows


@dataclass(slots=True)
class Acting:
    """The person of the request that this thread answers, and what was recorded in it so far."""

    who: str = ""
    who_id: str = ""
    address: str = ""
    noted: int = 0
    changes: list[Change] = field(default_factory=list)  # of the form that is being saved


_acting: ContextVar[Acting | None] = ContextVar("acting", default=None)


def acting() -> Acting:
    """Who acts now. Nobody outside of the console's requests."""
    return _acting.get() or Acting()


@contextmanager
def acted_by(person: Acting) -> Iterator[Acting]:
    token = _acting.set(person)
    try:
        yield person
    finally:
        _acting.reset(token)


def note(
    verb: str,
    about: Model | None = None,
    *,
    label: str = "",
    reason: str = "",
    changes: Iterable[Change] = (),
    by: Acting | None = None,
) -> None:
    """Record that somebody did this. Call it in the transaction of the change."""
    person = by or acting()
    AuditEntry.objects.create(
        at=timezone.now(),
        who=line(person.who, 254),
        who_id=line(person.who_id, 40),
        address=line(person.address, 64),
        verb=line(verb, 120),
        kind=line(_kind(about), 80) if about else "",
        object_id=line(about.pk, 255) if about else "",
        label=line(label or about or "", 200),
        reason=line(reason, LONGEST_REASON),
        changes=[_change(one) for one in list(changes)[:MOST_CHANGES]],
    )
    person.noted += 1


def line(value: object, longest: int) -> str:
    """The text in one line, cut to this many characters, without characters that nobody sees."""
    text = " ".join(str(value)[: 2 * longest].split())
    shown = "".join(one for one in text if unicodedata.category(one) not in UNSEEN)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _change(change: Change) -> list[str]:
    name, before, after = change
    return [line(name, LONGEST_NAME), line(before, LONGEST_VALUE), line(after, LONGEST_VALUE)]


def _kind(row: Model) -> str:
    return str(row._meta.verbose_name)  # noqa: SLF001  # Django's documented way to a model's name
