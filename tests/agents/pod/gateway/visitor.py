"""Requests of strangers and owners to the public listener."""

from __future__ import annotations

import requests

from tests.agents.pod.gateway.process import GatewayProcess

HTML = {"Accept": "text/html,application/xhtml+xml"}
PASSWORD = {"dash_username": "ada", "dash_password": "correct horse"}


def get(gateway: GatewayProcess, path: str, **headers: str) -> requests.Response:
    return requests.get(gateway.public + path, headers=headers, timeout=10, allow_redirects=False)


def post(
    gateway: GatewayProcess, path: str, *, cookie: str = "", origin: str | None = None, **given: object
) -> requests.Response:
    headers = {"Origin": gateway.public if origin is None else origin, "Cookie": cookie}
    return requests.post(gateway.public + path, headers=headers, timeout=10, allow_redirects=False, **given)  # type: ignore[arg-type] # requests has one type per keyword


def cookie_of(gateway: GatewayProcess) -> str:
    return get(gateway, f"/ticket?t={gateway.ticket()}").headers["Set-Cookie"].partition(";")[0]
