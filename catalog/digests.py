"""What a load remembers of a row, and so which columns somebody changed since."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

from catalog.models import CatalogRow

# Set by hand, by an author, or by the running service: no load touches them.
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
    """The columns that a load writes."""
    return [name for name in model.column_names() if name not in UNTOUCHED]


def of(row: CatalogRow) -> dict[str, str]:
    """A digest of each of these columns."""
    return {column: _digest(getattr(row, column)) for column in columns(type(row))}


def edited(row: CatalogRow) -> list[str]:
    """The columns that differ from what the last load wrote; a column newer than that load does not."""
    now = of(row)
    return [column for column, digest in row.loaded.items() if column in now and now[column] != digest]


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_DIGITS]


def _plain(value: Any) -> str:
    """Decimals as people write them: the database gives 5.00 for a 5."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)
