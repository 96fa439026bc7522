"""A text as a QR code, drawn in the page itself: nobody else is asked for a picture, and no script draws it."""

from __future__ import annotations

from functools import lru_cache

import segno
from django.utils.safestring import SafeString, mark_safe

QUIET = 4  # modules around it, without which some cameras find nothing
KEPT = 256


@lru_cache(maxsize=KEPT)
def drawing(text: str) -> SafeString:
    """Black on white in dark mode too: many programs cannot read it the other way round."""
    code = segno.make(text, error="m", micro=False)
    picture = code.svg_inline(border=QUIET, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None)
    return mark_safe(picture)  # noqa: S308 # rectangles and lines; nothing of the text is in it as text
