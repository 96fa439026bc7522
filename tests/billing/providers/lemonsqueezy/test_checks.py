"""The warnings of `check --deploy` and of the books about providers that do not report everything."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from billing.providers.lemonsqueezy.checks import licences_are_watched
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.lemonsqueezy_server import API_KEY, LemonSqueezyServer


def ids() -> list[str | None]:
    return [message.id for message in licences_are_watched()]


def test_who_sells_nothing_there_is_warned_of_nothing() -> None:
    assert ids() == []


def test_a_seller_without_the_keys_is_warned(lemon: LemonSqueezyServer, settings: Any) -> None:
    assert ids() == ["agentpods.W003", "agentpods.W004"]
    settings.LEMONSQUEEZY_API_KEY, settings.LEMONSQUEEZY_WEBHOOK_SECRET = API_KEY, "secret"
    assert ids() == []


@pytest.mark.django_db
def test_the_books_name_what_nobody_tells(
    lemon: LemonSqueezyServer, gumroad: GumroadServer, admin_client: Client, admin_user: User, settings: Any
) -> None:
    page = admin_client.get("/admin/billing/books/").content.decode()
    assert "LEMONSQUEEZY_API_KEY is not set" in page
    assert "note refunded renewals in the ledger" in page
    settings.LEMONSQUEEZY_API_KEY = API_KEY
    assert "LEMONSQUEEZY_API_KEY" not in admin_client.get("/admin/billing/books/").content.decode()
