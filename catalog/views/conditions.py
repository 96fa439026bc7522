"""Reads `Accept-Encoding` and `If-None-Match` of a request (RFC 9110, 12.5.3 and 13.1.2)."""

from __future__ import annotations

from functools import lru_cache

from django.utils.http import parse_etags

HEADERS_REMEMBERED = 256  # clients send only a few different ones


@lru_cache(HEADERS_REMEMBERED)
def prefers_gzip(accept_encoding: str) -> bool:
    """Whether gzip is acceptable, and has at least the weight of the plain body if the header names that too."""
    weights = _weights(accept_encoding)
    gzip = max(weights.get("gzip", -1.0), weights.get("x-gzip", -1.0))
    if gzip < 0:
        gzip = weights.get("*", 0.0)
    return gzip > 0 and gzip >= weights.get("identity", 0.0)


def _weights(accept_encoding: str) -> dict[str, float]:
    """Each coding with its weight. A weight that cannot be read counts as 0: refused."""
    weights: dict[str, float] = {}
    for member in accept_encoding.lower().split(","):
        coding, *parameters = (part.strip() for part in member.split(";"))
        if coding:
            weights[coding] = _weight(parameters)
    return weights


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(1.0, max(0.0, float(value)))
            except ValueError:
                return 0.0
    return 1.0


def matching(if_none_match: str, etags: tuple[str, ...]) -> str | None:
    """Which of our ETags the caller already has, by weak comparison; for `*` the first. None if the caller has none."""
    named = {tag.removeprefix("W/") for tag in parse_etags(if_none_match)}
    if "*" in named:
        return etags[0]
    return next((tag for tag in etags if tag in named), None)
