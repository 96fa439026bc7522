"""Asking a model provider about a key, which may take it seconds."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from agents import vendors
from tests.doubles.provider import Provider


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_a_provider_holds_no_database_connection(settings: Any) -> None:
    settings.LLM_KEY_CHECK = True
    connection.ensure_connection()
    with Provider() as provider:
        settings.LLM_BASE_URLS = {"openai": f"{provider.url}/v1"}
        vendors.check_key("openai", "sk-one")
    assert connection.connection is None
