"""QR codes as SVG in the page itself: no picture is loaded and no script is needed."""

from __future__ import annotations

from functools import lru_cache

import segno
from django.utils.safestring import SafeString, mark_safe

QUIET = 4  # modules of white border, which some cameras need
KEPT = 256


@lru_cache(maxsize=KEPT)
def drawing(text: str) -> SafeString:
    """A QR code for the text. Black on white also in dark mode: many programs cannot read inverted codes."""
    code = segno.make(text, error="m", micro=False)
    picture = code.svg_inline(border=QUIET, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None)
    return mark_safe(picture)  # noqa: S308 # only rectangles and lines; the text itself is not in it
