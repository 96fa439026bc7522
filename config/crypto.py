"""Secrets in the database: fields encrypted with MultiFernet, with key rotation, and digests for secrets that are only
compared.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
import logging
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models
from django.db.models.query_utils import DeferredAttribute

from config.errors import Unavailable

log = logging.getLogger(__name__)


@functools.cache
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def encrypt(clear: str) -> str:
    """Encrypt with the newest key of SECRETS_KEYS."""
    return _fernet(tuple(settings.SECRETS_KEYS)).encrypt(clear.encode()).decode()


def decrypt(sealed: str) -> str:
    """Decrypt with any key of SECRETS_KEYS. Raises `cryptography.fernet.InvalidToken` when none fits."""
    return _fernet(tuple(settings.SECRETS_KEYS)).decrypt(sealed.encode()).decode()


def reseal(sealed: str) -> str:
    """Encrypt the same text again with the newest key (`rotate_secrets`)."""
    return _fernet(tuple(settings.SECRETS_KEYS)).rotate(sealed.encode()).decode()


def sha256(clear: str) -> str:
    return hashlib.sha256(clear.encode()).hexdigest()


def keyed_digest(clear: str) -> str:
    """A digest keyed with SECRET_KEY, for secrets with few possible values such as sign-in codes."""
    return hmac.new(settings.SECRET_KEY.encode(), clear.encode(), hashlib.sha256).hexdigest()


def same(left: str, right: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(left.encode(), right.encode())


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The encrypted value of a secret whose key is lost. It is saved unchanged, in case the key comes back."""

    sealed: str = field(repr=False)


class UnreadableSecret(Unavailable):
    """Code needs a secret that no key of SECRETS_KEYS decrypts."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name}: cannot be decrypted any more, because its encryption key is lost; set it again", retry_after=60
        )


class _SecretAttribute(DeferredAttribute):
    """The attribute of an encrypted field.

    A row with an unreadable secret can be read and changed; only reading that secret raises.
    """

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        if isinstance(value, Unreadable):
            raise UnreadableSecret(self.field.attname)
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.field.attname] = value


class _Encrypted(models.TextField[Any, Any]):
    descriptor_class = _SecretAttribute
    written: ClassVar[Callable[[Any], str]] = str  # the value as clear text
    read: ClassVar[Callable[[str], Any]] = str  # the value of a clear text

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        return model_instance.__dict__.get(self.attname)

    def get_prep_value(self, value: Any) -> Any:
        if isinstance(value, Unreadable):
            return value.sealed
        return None if value is None else encrypt(type(self).written(value))

    def from_db_value(self, value: str | None, expression: object, connection: object) -> Any:
        try:
            return None if value is None else type(self).read(decrypt(value))
        except InvalidToken:
            return Unreadable(str(value))


class EncryptedText(_Encrypted):
    """Text that is clear in Python and encrypted in the database. The database cannot search it."""


class EncryptedJson(_Encrypted):
    """A JSON value, encrypted in the database as one text."""

    _pyi_private_set_type: Any
    _pyi_private_get_type: Any
    written, read = json.dumps, json.loads


def is_encrypted(column: object) -> bool:
    return isinstance(column, _Encrypted)


Row = TypeVar("Row", bound=models.Model)


def readable(row: Row) -> Row:
    """Return the row, or a copy to show, in which unreadable secrets have their default value.

    Each such secret is logged once.
    """
    lost = [column for column in _columns(type(row)) if isinstance(row.__dict__.get(column.attname), Unreadable)]
    if not lost:
        return row
    shown = copy(row)
    for column in lost:
        _note_lost(type(row).__name__, str(row.pk), column.attname)
        setattr(shown, column.attname, column.get_default())
    return shown


@functools.cache
def _columns(model: type[models.Model]) -> list[_Encrypted]:
    """The encrypted columns of the model. Cached, because lists show a thousand rows."""
    return [column for column in model._meta.concrete_fields if isinstance(column, _Encrypted)]  # noqa: SLF001


@functools.lru_cache(maxsize=10_000)
def _note_lost(kind: str, row_id: str, name: str) -> None:
    """Log the lost secret. The cache makes this happen once per secret and process."""
    log.error("a secret cannot be read any more: its key is lost", extra={"row": f"{kind} {row_id}", "column": name})
