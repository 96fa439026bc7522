"""Signing in with a browser (RFC 8628): this program shows a code, and a person types it on the service's page.

The program then gets a key of its own, with the limits that the person chose.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import httpx

from agentpods.errors import AgentpodsError, NoAnswerError, UnexpectedAnswerError, refusal

CLIENT_ID = "agentpods-cli"
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
SCOPE = "read operate pay"
TIMEOUT = 30.0  # seconds of one call
SLOWER = 5.0  # seconds more between calls after `slow_down`
LONGEST_ANSWER = 65_536  # bytes
LONGEST_WAIT = 3_600.0  # seconds
PROXY_ERRORS = {502, 504}  # answers of a proxy, before a service that is away
BUSY = {429, 503, *PROXY_ERRORS}


class NotAllowedError(AgentpodsError):
    """The person refused, or did not answer in time."""


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What the service gave: a code for this program, one for the person, and where they type it."""

    code: str
    shown: str
    page: str
    seconds: float
    interval: float


class BrowserSignIn:
    """One sign-in at one service."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = httpx.Client(follow_redirects=False, timeout=TIMEOUT)

    def __enter__(self) -> BrowserSignIn:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def begin(self) -> DeviceCode:
        """Raises AgentpodsError."""
        status, told = self._ask("device", client_id=CLIENT_ID, scope=SCOPE)
        if status != 200:
            raise _refused(status, told)
        try:
            return DeviceCode(
                code=str(told["device_code"]),
                shown=str(told["user_code"]),
                page=str(told["verification_uri"]),
                seconds=_seconds(told["expires_in"]),
                interval=_seconds(told.get("interval", 5)),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise UnexpectedAnswerError("the service's code cannot be read") from error

    def key(self, given: DeviceCode) -> str:
        """Wait for the person. Returns the key. Raises NotAllowedError, AgentpodsError."""
        ends, interval = time.monotonic() + given.seconds, max(given.interval, 1.0)
        while time.monotonic() < ends:
            time.sleep(interval)
            try:
                status, told = self._ask("token", client_id=CLIENT_ID, grant_type=GRANT_TYPE, device_code=given.code)
            except NoAnswerError:  # RFC 8628, 3.5: a network that is away for a moment does not end a sign-in
                interval += SLOWER
                continue
            if status == 200 and isinstance(told.get("access_token"), str):
                return str(told["access_token"])
            match told.get("error"):
                case "authorization_pending":
                    continue
                case _ if status in BUSY or told.get("error") == "slow_down":
                    interval += SLOWER
                case "access_denied":
                    raise NotAllowedError("you refused it in the browser")
                case "expired_token":
                    break
                case _:
                    raise _refused(status, told)
        raise NotAllowedError("the code is over; run `agentpods login` again")

    def _ask(self, path: str, **form: str) -> tuple[int, dict[str, Any]]:
        try:
            with self._http.stream("POST", f"{self._url}/oauth/{path}", data=form) as answer:
                body = b""
                for piece in answer.iter_bytes():
                    body += piece
                    if len(body) > LONGEST_ANSWER:
                        raise UnexpectedAnswerError("the service's answer is too large")
                is_of_proxy = answer.status_code in PROXY_ERRORS
                told = {} if is_of_proxy else httpx.Response(answer.status_code, content=body).json()
        except httpx.HTTPError as error:
            raise NoAnswerError(f"{self._url} does not answer ({type(error).__name__})") from error
        except (ValueError, RecursionError) as error:
            raise UnexpectedAnswerError("the service's answer is no JSON") from error
        return answer.status_code, told if isinstance(told, dict) else {}


def _seconds(given: Any) -> float:
    """Raises ValueError for what is no time to wait."""
    if not 0 <= float(given) <= LONGEST_WAIT:
        raise ValueError
    return float(given)


def _refused(status: int, told: dict[str, Any]) -> AgentpodsError:
    """The error in the service's words, from either kind of error body."""
    message = told.get("message") or told.get("error_description") or told.get("error")
    return refusal(status, {"error": told.get("error"), "message": message}, {}, secret="")
