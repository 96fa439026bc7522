"""Engines whose licence does not let everybody host them for others."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from catalog import checks
from catalog.vocabulary import RUNNABLE
from config.operator_settings.choosing import WrongValue
from tests.operating import choose_setting

pytestmark = pytest.mark.usefixtures("catalog")

NEEDS_A_CONFIRMATION = {"n8n", "claude-code"}
FREE = set(RUNNABLE) - NEEDS_A_CONFIRMATION


@pytest.fixture
def production(settings: Settings) -> Settings:
    settings.DEVELOPMENT = False
    return settings


def offered() -> set[str]:
    return {engine["id"] for engine in APIClient().get("/engines").json()["engines"]}


def test_development_offers_all_engines_that_pods_can_run() -> None:
    assert offered() == set(RUNNABLE)


@pytest.mark.parametrize("confirmed", [[], ["n8n"], ["n8n", "claude-code"]])
def test_production_offers_these_two_only_when_they_are_confirmed(production: Settings, confirmed: list[str]) -> None:
    production.ENGINES_CONFIRMED = confirmed
    assert offered() == FREE | (set(confirmed) & set(RUNNABLE))


def test_the_deployment_check_names_what_waits_for_a_confirmation(production: Settings) -> None:
    production.ENGINES_CONFIRMED = ["n8n"]
    assert said(checks.engines_wait_for_a_confirmation()) == ["not offered: claude-code"]


def test_nothing_waits_in_development() -> None:
    assert checks.engines_wait_for_a_confirmation() == []


@pytest.mark.parametrize("name", ["n8n ", "claude", "pi"])
def test_a_name_that_needs_no_confirmation_stops_every_command(settings: Settings, name: str) -> None:
    settings.ENGINES_CONFIRMED = ["n8n", name]
    found = checks.confirmed_engines_are_known()
    assert (said(found), found[0].is_serious()) == ([f"ENGINES_CONFIRMED names {name}"], True)


def test_an_operator_confirms_an_engine_while_the_service_runs(production: Settings) -> None:
    assert offered() == FREE
    choose_setting("ENGINES_CONFIRMED", "n8n")
    assert offered() == FREE | ({"n8n"} & set(RUNNABLE))
    with pytest.raises(WrongValue, match="ENGINES_CONFIRMED names pi"):
        choose_setting("ENGINES_CONFIRMED", "n8n,pi")


@pytest.mark.parametrize(
    ("engine", "confirmed", "words"),
    [
        ("n8n", [], "Not offered until ENGINES_CONFIRMED names it."),
        ("n8n", ["n8n"], "Confirmed by ENGINES_CONFIRMED."),
        ("claude-code", [], "Commercial Terms"),
        ("pi", [], "no restriction on hosting"),
    ],
)
def test_an_engines_page_in_the_admin_tells_its_licence(
    admin_client: Client, production: Settings, engine: str, confirmed: list[str], words: str
) -> None:
    production.ENGINES_CONFIRMED = confirmed
    page: Any = admin_client.get(f"/admin/catalog/engine/{engine}/change/")
    assert words in page.content.decode()


def said(found: list[CheckMessage]) -> list[str]:
    return [message.msg for message in found]
