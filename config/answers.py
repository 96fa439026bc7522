"""The bodies of answers from services outside, with limits: such a service may send without end, or a byte a second."""

from __future__ import annotations

import time
from collections.abc import Callable

import requests
from urllib3.exceptions import HTTPError

CHUNK_BYTES = 65_536


def body_of(answer: requests.Response, *, at_most: int, until: float, refuse: Callable[[str], Exception]) -> bytes:
    """The decompressed body of at most `at_most` bytes. It must have come when `time.monotonic()` is `until`.

    Raises `refuse(…)`, with the reason in words, for a body that is too large or too slow, and RequestException if the
    connection breaks.
    """
    body = bytearray()
    try:
        # read1 returns what has arrived; other calls wait for a whole chunk
        while chunk := answer.raw.read1(CHUNK_BYTES, decode_content=True):
            body += chunk
            if len(body) > at_most:
                raise refuse(f"more than {at_most} bytes")
            if time.monotonic() > until:
                raise refuse("not in time")
    except HTTPError as error:
        raise requests.ConnectionError(type(error).__name__) from error
    return bytes(body)
