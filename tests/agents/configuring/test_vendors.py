"""Asking a model provider whether it accepts a key. The provider may need seconds to answer."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from agents.configuring import vendors
from agents.running import pods
from tests.agents.conftest import MakeAgent
from tests.doubles.provider import ModelVendor


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_a_provider_holds_no_database_connection(settings: Any) -> None:
    settings.LLM_KEY_CHECK = True
    connection.ensure_connection()
    with ModelVendor() as provider:
        settings.LLM_BASE_URLS = {"openai": f"{provider.url}/v1"}
        vendors.check_key("openai", "sk-one")
    assert connection.connection is None


@pytest.mark.parametrize(
    ("status", "checked"),
    [(200, True), (404, False), (405, False), (301, False), (403, False), (429, False), (500, False), (503, False)],
)
def test_only_a_clear_answer_checks_a_key(settings: Any, db: None, status: int, checked: bool) -> None:
    settings.LLM_KEY_CHECK = True
    with ModelVendor() as provider:
        provider.answer = lambda handler: handler.whole(status, b"{}")
        settings.LLM_BASE_URLS = {"openai": f"{provider.url}/v1"}
        assert vendors.check_key("openai", "sk-one") is checked


def test_a_provider_that_is_away_or_not_asked_checks_nothing(settings: Any, db: None) -> None:
    settings.LLM_BASE_URLS = {"openai": "http://127.0.0.1:1/v1"}
    settings.LLM_KEY_CHECK = True
    assert vendors.check_key("openai", "sk-one") is False
    settings.LLM_KEY_CHECK = False
    assert vendors.check_key("openai", "sk-one") is False


@pytest.mark.parametrize(("base", "own"), [({}, False), ({"openai": "http://10.0.0.5/v1"}, True)])
def test_engines_are_told_that_the_model_server_is_the_operators_own(
    make_agent: MakeAgent, settings: Any, base: dict[str, str], own: bool
) -> None:
    settings.LLM_BASE_URLS = base
    agent = make_agent(llm_provider="openai", llm_key="sk-test-0815-4711")
    assert pods.config_of(agent).own_model_server is own
