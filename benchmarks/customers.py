"""Accounts with one API key each, written directly into the database."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.utils import timezone

from accounts import keys
from accounts.models import User


@dataclass(frozen=True, slots=True)
class Customer:
    user: User
    key: str

    @property
    def bearer(self) -> str:
        return f"Bearer {self.key}"


def some(count: int) -> list[Customer]:
    return [one() for _ in range(count)]


def one() -> Customer:
    user = User.objects.create(email=f"{secrets.token_hex(8)}@example.com")
    return Customer(user, keys.create(user, name="benchmark", now=timezone.now())[1])
