"""The beginning of a text, without secrets and on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agents.pod.logs.lines import clean
from agents.pod.masking import mask_text

SHOWN_CHARACTERS = 200
NAME_CHARACTERS = 80
# Of a longer text only this much is read. It is more than what is shown, because a secret becomes shorter when masked.
READ_CHARACTERS = 1024
_SPACES = re.compile(r"\s+")


def short(text: str, secrets: Iterable[str], *, most: int = SHOWN_CHARACTERS) -> str:
    """At most `most` characters and a mark of the cut.

    The text is masked twice. At first as it is, because a secret may have several lines. Then without spaces and
    invisible characters, because these may stand inside a secret. It is cut last.
    """
    known = list(secrets)
    masked = mask_text(text[:READ_CHARACTERS], known)
    plain = mask_text(clean(_SPACES.sub(" ", masked)), known)
    plain = plain.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be stored
    return plain if len(plain) <= most and len(text) <= READ_CHARACTERS else f"{plain[:most]}…"
