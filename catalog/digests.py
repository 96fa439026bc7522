"""The digests that a load stores for each row. They show which columns somebody has changed since."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

from catalog.models import CatalogRow

# Columns that operators, authors or the running service set. No load touches them.
UNTOUCHED = {
    "id",
    "loaded",
    "gone",
    "owner_id",
    "deployments",
    "deployed_count",
    "created_at",
    "updated_at",
    "published_at",
    "reviewed_at",
    "outdated",
    "refreshed_at",
}
DIGEST_DIGITS = 16


def columns(model: type[CatalogRow]) -> list[str]:
    """The names of the columns that a load writes."""
    return [name for name in model.column_names() if name not in UNTOUCHED]


def of(row: CatalogRow) -> dict[str, str]:
    """A digest of each column that a load writes."""
    return {column: _digest(getattr(row, column)) for column in columns(type(row))}


def edited(row: CatalogRow) -> list[str]:
    """The columns that differ from what the last load wrote. A column added after that load does not count."""
    now = of(row)
    return [column for column, digest in row.loaded.items() if column in now and now[column] != digest]


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_DIGITS]


def _plain(value: Any) -> str:
    """A decimal without trailing zeros: the database returns 5.00 for 5."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)
