"""How Stripe's library reaches Stripe: within bounds of time and size that it has none of by itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import requests
import stripe
from urllib3.exceptions import HTTPError

CONNECT_SECONDS, READ_SECONDS, TOTAL_SECONDS = 3, 10, 20
MAX_BODY_BYTES = 4 * 1_048_576  # a hundred events
CHUNK_BYTES = 16_384

# Nothing about this machine is told, neither with calls nor in a file of its own.
stripe.enable_telemetry = False


class BoundedClient(stripe.HTTPClient):
    """One connection for each call: no proxy of the environment, no redirects, no endless answer."""

    name = "requests"

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None,
        post_data: Any = None,
        *,
        _usage: list[str] | None = None,
    ) -> tuple[str, int, Mapping[str, str]]:
        until = time.monotonic() + TOTAL_SECONDS
        try:
            with requests.Session() as session:
                session.trust_env = False
                answer = session.request(
                    method,
                    url,
                    headers=dict(headers or {}),
                    data=post_data,
                    timeout=(CONNECT_SECONDS, READ_SECONDS),
                    allow_redirects=False,
                    stream=True,
                )
                with answer:
                    return _read(answer, until=until).decode("utf-8", "replace"), answer.status_code, answer.headers
        except (requests.RequestException, HTTPError) as error:
            problem = type(error).__name__
        raise _away(f"not reached ({problem})")  # outside, so that no chain shows what was sent


def _read(answer: requests.Response, *, until: float) -> bytes:
    body = b""
    # read1, since everything else waits until a whole chunk is there
    while chunk := answer.raw.read1(CHUNK_BYTES, decode_content=True):
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _away(f"more than {MAX_BODY_BYTES} bytes")
        if time.monotonic() > until:
            raise _away(f"not within {TOTAL_SECONDS} s")
    return body


def _away(problem: str) -> stripe.APIConnectionError:
    return stripe.APIConnectionError(problem)  # type: ignore[no-untyped-call] # the library is half typed
