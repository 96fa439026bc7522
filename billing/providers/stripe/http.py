"""The HTTP client of Stripe's library, with limits of time and size that the library does not have."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import requests
import stripe

from config import answers

CONNECT_SECONDS, READ_SECONDS, TOTAL_SECONDS = 3, 10, 20
MAX_BODY_BYTES = 4 * 1_048_576  # a hundred events

# Stripe's library must not send or store data about this machine.
stripe.enable_telemetry = False


class BoundedClient(stripe.HTTPClient):
    """One connection per call. No proxy from the environment, no redirects, no answer without end."""

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
                    body = answers.body_of(answer, at_most=MAX_BODY_BYTES, until=until, refuse=_away)
                    return body.decode("utf-8", "replace"), answer.status_code, answer.headers
        except requests.RequestException as error:
            problem = type(error).__name__
        # outside of `except`, so that the traceback does not show what was sent
        raise _away(f"not reached ({problem})")


def _away(problem: str) -> stripe.APIConnectionError:
    return stripe.APIConnectionError(problem)  # type: ignore[no-untyped-call] # the library is half typed
