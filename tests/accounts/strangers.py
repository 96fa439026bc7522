"""Requests for codes and tries from many addresses, at a frozen noon."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pytest_django import Settings
from rest_framework.test import APIClient

from tests.accounts.conftest import mailed_code

ANN = "ann@example.com"
HOME, PHONE = "192.0.2.1", "192.0.2.2"


def ask(api: APIClient, address: str, email: str = ANN) -> str:
    """Request a code and return it; empty where the API does not show codes."""
    answer = api.post("/auth/request", {"email": email}, format="json", REMOTE_ADDR=address)
    assert answer.status_code == 202
    return str(answer.json().get("devCode", ""))


def enter(api: APIClient, code: str, address: str, email: str = ANN) -> Any:
    return api.post("/auth/verify", {"email": email, "code": code}, format="json", REMOTE_ADDR=address)


def ask_at(api: APIClient, settings: Settings, address: str) -> str:
    """Request a code where the API does not show codes, and return it from the mail."""
    settings.SHOW_DEV_CODES = False
    ask(api, address)
    return mailed_code()


def clock_now() -> datetime:
    return datetime.now(UTC)


def sign_in(api: APIClient, address: str) -> None:
    assert enter(api, ask(api, address), address).status_code == 200


def stranger(number: int) -> str:
    return f"198.51.{number // 250}.{number % 250}"


def wrong(*codes: str) -> str:
    return next(f"{guess:06d}" for guess in range(len(codes) + 1) if f"{guess:06d}" not in codes)
