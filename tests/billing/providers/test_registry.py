"""Each provider is one package and one line, and nothing outside of its package decides by its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from billing.providers import registry
from billing.providers.page import page_of
from billing.vocabulary import LICENSED, Provider
from tests.config.conftest import ROOT

# The ids themselves, the registry, tables (one history of migrations), and a command, which Django finds by its place.
KNOWN = {
    "billing/vocabulary.py",
    "billing/providers/registry.py",
    "billing/management/commands/set_stars_webhook.py",
}
IDS = "|".join(provider for provider in Provider if provider != Provider.INTERNAL)
IN_CODE = re.compile(rf"Provider\.(?:{IDS})\b|billing\.providers\.(?:crypto|{IDS})\b", re.IGNORECASE)
IN_TEMPLATES = re.compile(rf"==\s*\"(?:{IDS})\"")


def _outside() -> list[Path]:
    packages = {ROOT / package.replace(".", "/") for package in registry.PACKAGES.values()}
    code = [path for path in (ROOT / "billing").rglob("*.py") if "migrations" not in path.parts]
    return [path for path in code if path.parent not in packages and str(path.relative_to(ROOT)) not in KNOWN]


def test_nothing_outside_of_its_package_knows_a_provider() -> None:
    assert [str(path) for path in _outside() if IN_CODE.search(path.read_text(encoding="utf-8"))] == []


def test_no_template_asks_which_provider_it_is() -> None:
    templates = (ROOT / "templates").rglob("*.html")
    assert [str(path) for path in templates if IN_TEMPLATES.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("provider", registry.PACKAGES)
def test_each_has_a_name_and_a_page_and_sells_either_keys_or_orders(provider: Provider) -> None:
    driver, page = registry.driver_of(provider), page_of(provider)
    assert driver is not None
    assert page is not None
    assert driver.name
    assert (driver.ordered_at == "") == (provider in LICENSED)


def test_what_operators_grant_has_no_package() -> None:
    assert registry.driver_of(Provider.INTERNAL) is None
    assert page_of(Provider.INTERNAL) is None
    assert registry.name_of(Provider.INTERNAL) == ""
