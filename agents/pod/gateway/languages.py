"""Finds the language that a browser asks for, among the languages of our pages."""

from __future__ import annotations

import re

from aiohttp import web

from agents.pod.gateway.words import WORDS

# Django reads this many characters for the console's pages; browsers send less than a hundred. The rest is ignored.
HEADER_CHARACTERS = 500
# RFC 9110 12.5.4: `es`, `pt-BR` or `id-ID;q=0.8`.
_RANGE = re.compile(r"([a-z]{2})(?:-[a-z0-9-]*)?(?:\s*;\s*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?")


def preferred(request: web.Request, *, otherwise: str) -> str:
    """The language with the highest weight in `Accept-Language` that our pages have. Of equal weights the first wins;
    weight 0 means never.
    """
    header = ",".join(request.headers.getall("Accept-Language", []))
    if len(header) > HEADER_CHARACTERS:
        header = header[:HEADER_CHARACTERS].rpartition(",")[0]
    best, most = otherwise, 0.0
    for one in header.lower().split(","):
        found = _RANGE.fullmatch(one.strip())
        weight = float(found[2] or 1) if found else 0.0
        if found and found[1] in WORDS and weight > most:
            best, most = found[1], weight
    return best
