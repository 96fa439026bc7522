"""Where a page of a search ended. A cursor contains this; only the search that made the cursor accepts it."""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from dataclasses import dataclass

from catalog.models.personas import ID_LENGTH
from config.errors import BadRequest

LONGEST_CURSOR = 200
_LARGEST_POSITION = 2**31 - 1
_ID = re.compile(rf"[a-z0-9-]{{1,{ID_LENGTH}}}")


class ForeignCursor(BadRequest):
    message = (
        "cursor: must be the one from the Link header of the previous page, with the same q, category, lang and"
        " tier; leave it out for the first page"
    )


@dataclass(frozen=True, slots=True)
class SearchPosition:
    """The last persona of a page. The rank is None if the search has no words."""

    rank: float | None
    position: int
    persona_id: str


def cursor_of(place: SearchPosition, *, search: str) -> str:
    """Make a cursor. `search` is the digest of the search; the next page must have the same."""
    rank = "" if place.rank is None else struct.pack(">f", place.rank).hex()
    return base64.urlsafe_b64encode(f"{search}|{rank}|{place.position}|{place.persona_id}".encode()).decode()


def place_of(cursor: str, *, search: str) -> SearchPosition:
    """Read a cursor. Raises ForeignCursor if `cursor_of` did not make it for this search."""
    try:
        told = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode("ascii")
        given, rank, position, persona_id = told.split("|")
        place = SearchPosition(_rank(rank), int(position), persona_id)
    except (ValueError, binascii.Error, struct.error) as error:
        raise ForeignCursor from error
    if cursor_of(place, search=given) != cursor or given != search or not _possible(place):
        raise ForeignCursor
    return place


def _rank(digits: str) -> float | None:
    """Read a rank. PostgreSQL's ranks have 32 bits; in any other form a rank would not be equal to itself."""
    return struct.unpack(">f", bytes.fromhex(digits))[0] if digits else None


def _possible(place: SearchPosition) -> bool:
    ranked = place.rank is None or (math.isfinite(place.rank) and place.rank >= 0)
    return ranked and 0 <= place.position <= _LARGEST_POSITION and bool(_ID.fullmatch(place.persona_id))
