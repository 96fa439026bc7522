"""Secrets at rest: MultiFernet fields with rotation, and digests for what is only ever compared."""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
from typing import Any

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.db import models


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
    """Re-encrypt under the newest key without changing the clear text (`rotate_secrets`)."""
    return _fernet(tuple(settings.SECRETS_KEYS)).rotate(sealed.encode()).decode()


def sha256(clear: str) -> str:
    return hashlib.sha256(clear.encode()).hexdigest()


def keyed_digest(clear: str) -> str:
    """A digest under SECRET_KEY, for secrets with few possible values such as sign-in codes."""
    return hmac.new(settings.SECRET_KEY.encode(), clear.encode(), hashlib.sha256).hexdigest()


def same(left: str, right: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(left.encode(), right.encode())


class EncryptedText(models.TextField[Any, Any]):
    """Text that is clear in Python and encrypted in the database. Not searchable."""

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else encrypt(str(value))

    def from_db_value(self, value: str | None, expression: object, connection: object) -> str | None:
        return None if value is None else decrypt(value)


class EncryptedJson(models.TextField[Any, Any]):
    """A JSON value that is encrypted as one text in the database."""

    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else encrypt(json.dumps(value))

    def from_db_value(self, value: str | None, expression: object, connection: object) -> Any:
        return None if value is None else json.loads(decrypt(value))
