"""A visitor of the account's pages with a browser without scripts: the page's own forms, and real CSRF tokens."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import sessions
from accounts.models import User
from tests.pages.page import Element, Page


class Visitor:
    def __init__(self, user: User | None = None, **headers: str) -> None:
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False, headers=headers)
        if user:
            self.token = sessions.start(user, attribution=None, now=timezone.now())[1]
            self.client.cookies[settings.ACCOUNT_COOKIE_NAME] = self.token

    def open(self, place: str, *, status: int = 200) -> Page:
        return shown(self.client.get(place), status=status)

    def send(self, page: Page, action: str, **typed: str) -> Any:
        """Send the page's form for this action, with its hidden fields."""
        form = page.one("form", action=action, method="post")
        return self.post(action, **{**fields(page, form), **typed})

    def post(self, place: str, **typed: str) -> Any:
        """Post as browsers do for a form without another encoding."""
        return self.client.post(place, urlencode(typed), content_type="application/x-www-form-urlencoded")

    def follow(self, answer: Any) -> Page:
        assert answer.status_code == 303, answer.content
        return self.open(answer.headers["Location"].partition("#")[0])


def fields(page: Page, form: Element) -> dict[str, str]:
    inputs = [one for one in page.all("input") if any(parent is form for parent in one.within)]
    return {one.attributes["name"]: one.attributes.get("value", "") for one in inputs}


def shown(answer: Any, *, status: int = 200) -> Page:
    assert answer.status_code == status, (answer.status_code, answer.headers, answer.content[:2000])
    return Page(answer.content.decode())


def text(page: Page) -> str:
    return " ".join(page.one("main").text.split())


OCCASIONAL = re.compile("catalog_|status_announcement")


def statements(visitor: Visitor, place: str) -> int:
    """How many database queries the page makes, without the occasional looks for a newer catalog and for banners."""
    with CaptureQueriesContext(connection) as asked:
        visitor.open(place)
    return len([one for one in asked if not OCCASIONAL.search(one["sql"])])
