"""Steps 1, 2 and 4 of the recipe "Add an event type" (CONTRIBUTING.md). Step 3 is `renaming.py`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import clear_url_caches
from drf_spectacular.settings import spectacular_settings

from config import docs
from pages.account.agents import event_texts
from pages.public.docs import operations
from pages.public.docs import page as docs_page
from tests import choices
from tests.agents.conftest import catalog, client, make_agent, owner, running, runtime
from webhooks.event_types import EVENTS, EventType
from webhooks.models import Event

__all__ = ["catalog", "client", "make_agent", "owner", "running", "runtime"]

DESCRIBED = ("The agent got another name.", {"from": "Ada", "to": "Grace"})
# A service that starts reads the list in these, in this order.
READERS = ["webhooks.openapi", "webhooks.serializers"]
READERS += ["agents.views.webhook", "agents.views.events", "agents.views.deliveries", "agents.urls", "config.urls"]


@pytest.fixture
def its_lines() -> Iterator[EventType]:
    """The lines in webhooks/event_types.py and pages/account/agents/event_texts.py."""
    with choices.added(EventType, "AGENT_RENAMED", "agent.renamed") as added:
        EVENTS[added] = DESCRIBED
        event_texts.TYPES[added] = "The agent was renamed"  # type: ignore[assignment]  # English only, untranslated
        _start_again()
        yield added
        del EVENTS[added], event_texts.TYPES[added]
    _start_again()


def _start_again() -> None:
    for name in READERS:
        importlib.reload(importlib.import_module(name))
    for made_once in (docs._document, operations.reference, docs_page._printed):
        made_once.cache_clear()
    vars(spectacular_settings).pop("WEBHOOKS", None)  # read once, at the first description of the API
    clear_url_caches()


@pytest.fixture
def its_choice(its_lines: EventType) -> Iterator[EventType]:
    """The migration of step 4: the column knows the type."""
    column: Any = Event._meta.get_field("type")
    before, column.choices = column.choices, EventType.choices
    yield its_lines
    column.choices = before
