"""Encrypts every secret in the database again with the newest key of SECRETS_KEYS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cryptography.fernet import Fernet, InvalidToken
from django.apps import apps
from django.conf import settings
from django.db.models import Model, QuerySet, TextField, Value
from django.db.models.functions import Cast

from config.crypto import EncryptedJson, EncryptedText, reseal

BATCH = 500

Column = EncryptedText | EncryptedJson


@dataclass(slots=True)
class Count:
    """The results for one column. `unreadable` values were encrypted with a key that SECRETS_KEYS no longer has."""

    column: str
    resealed: int = 0
    current: int = 0
    unreadable: int = 0


def rotate() -> Iterator[Count]:
    """Go through every encrypted column of every app. Stopping it or running it twice is harmless."""
    for model, column in encrypted_columns():
        yield _rotate_column(model, column)


def encrypted_columns() -> list[tuple[type[Model], Column]]:
    return [
        (model, field)
        for model in apps.get_models()
        if not model._meta.proxy  # noqa: SLF001  # Django's documented API
        for field in model._meta.local_concrete_fields  # noqa: SLF001
        if isinstance(field, EncryptedText | EncryptedJson)
    ]


def _rotate_column(model: type[Model], column: Column) -> Count:
    count = Count(column=f"{model._meta.label}.{column.name}")  # noqa: SLF001
    # Read the column as plain text: the field itself would decrypt it.
    rows = model._base_manager.annotate(sealed_text=Cast(column.name, TextField())).order_by("pk")  # noqa: SLF001
    rows = rows.filter(sealed_text__isnull=False)
    last: object = None
    while batch := list((rows if last is None else rows.filter(pk__gt=last)).values_list("pk", "sealed_text")[:BATCH]):
        for pk, sealed in batch:
            _reseal_value(rows.filter(pk=pk, sealed_text=sealed), column, sealed, count)
        last = batch[-1][0]
    return count


def _reseal_value(unchanged: QuerySet[Model], column: Column, sealed: str, count: Count) -> None:
    """Write the value back only if it has not changed meanwhile. A changed value already uses the newest key."""
    if _is_current(sealed):
        count.current += 1
        return
    try:
        fresh = reseal(sealed)
    except InvalidToken:
        count.unreadable += 1
        return
    count.resealed += unchanged.update(**{column.name: Value(fresh, TextField())})


def _is_current(sealed: str) -> bool:
    try:
        Fernet(settings.SECRETS_KEYS[0]).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True
