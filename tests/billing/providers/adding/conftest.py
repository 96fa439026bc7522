"""The steps of the recipe "Add a payment provider" (CONTRIBUTING.md) that are not the package itself."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import clear_url_caches

import billing.urls
import config.urls
from billing.providers import registry
from billing.vocabulary import Provider
from tests import choices
from tests.doubles.pennies_server import PenniesServer
from tests.pages.account.renew.paying import agent, person

__all__ = ["agent", "person"]

PACKAGE = "tests.billing.providers.adding.pennies"


@pytest.fixture
def its_id() -> Iterator[Provider]:
    """The line `PENNIES = "pennies"` in billing/vocabulary.py."""
    with choices.added(Provider, "PENNIES", "pennies") as added:
        yield added


@pytest.fixture
def its_line(its_id: Provider) -> Iterator[None]:
    """The line in billing/providers/registry.py. A service that starts now finds the package by it."""
    registry.PACKAGES[its_id] = PACKAGE
    _start_again()
    yield
    del registry.PACKAGES[its_id]
    _start_again()


def _start_again() -> None:
    """What looks for parts of providers when a service starts does so again."""
    registry.parts("tasks")
    for module in (billing.urls, config.urls):
        importlib.reload(module)
    clear_url_caches()


@pytest.fixture
def pennies(its_line: None, settings: Any) -> Iterator[PenniesServer]:
    """The setting, and the seller itself."""
    with PenniesServer() as double:
        settings.PENNIES_URL = double.url
        yield double
