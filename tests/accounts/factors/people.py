"""Operators with a second factor, for tests: their app, and their way through the login."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyotp
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from accounts import roles
from accounts.console_models import Factor, FactorKind
from accounts.models import User

PASSWORD = "a good long password"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
MINE, CONFIRM = "/admin/my-sign-in/", "/admin/confirm/"


def operator(role: str = "owner", email: str = "") -> User:
    roles.bring_up_to_date()
    user = User.objects.create_user(email or f"{role}@example.com", PASSWORD, is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    return user


def with_app(user: User) -> User:
    Factor.objects.create(user=user, kind=FactorKind.APP, name="phone", secret=SECRET, created_at=timezone.now())
    return user


def shown_by_app(at: datetime | None = None, *, steps: int = 0, secret: str = SECRET) -> str:
    """The code that the app shows now, or some steps later."""
    return pyotp.TOTP(secret).at(at or timezone.now(), counter_offset=steps)


def log_in(user: User, **where: Any) -> Client:
    """A browser in which the person has typed the password."""
    browser = Client(**where)
    answer = browser.post("/admin/login/", {"username": user.email, "password": PASSWORD})
    assert answer.status_code == 302, answer.content.decode()
    return browser


def is_in(browser: Client, page: str = "/admin/accounts/user/") -> bool:
    return browser.get(page).status_code == 200


def said(answer: Any) -> str:
    return str(answer.content.decode())
