"""The settings that operators change: each has a type and limits, and one rule reads its text from everywhere."""

from __future__ import annotations

import re

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.operator_settings.registry import GROUPS, SETTINGS, OperatorSettings, first_values
from config.operator_settings.setting import as_text
from tests.config.conftest import ROOT

PAGE = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
RUN_TIME = PAGE.partition("\n## At run time\n")[2]


def test_the_reference_has_the_same_groups_names_and_sentences_in_the_same_order() -> None:
    assert re.findall(r"^### (.+)$", RUN_TIME, re.MULTILINE) == GROUPS
    lines = re.findall(r"^\| `([A-Z_]+)`(?: \*secret\*)? \| (.+?) \| (.+) \|$", RUN_TIME, re.MULTILINE)
    assert [name for name, _, _ in lines] == list(SETTINGS)
    for name, _, meaning in lines:
        assert meaning.replace("`", "").startswith(SETTINGS[name].help), name


@pytest.mark.parametrize("name", SETTINGS)
def test_the_reference_has_each_default(name: str) -> None:
    (told,) = re.findall(rf"^\| `{name}`(?: \*secret\*)? \| (.+?) \|", RUN_TIME, re.MULTILINE)
    if name not in {"SUPPORT_EMAIL", "SECOND_FACTOR"}:  # theirs depend on the environment
        assert told == (f"`{SETTINGS[name].default}`" if SETTINGS[name].default else "none")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("TRIAL_DAYS", "soon", "TRIAL_DAYS='soon' must be a whole number"),
        ("TRIAL_DAYS", "", "TRIAL_DAYS='' must be a whole number"),
        ("TRIAL_DAYS", "-1", "TRIAL_DAYS=-1 must be at least 0"),
        ("KEPT_DAYS", "100001", "KEPT_DAYS=100001 must be at most 100000"),
        ("MAX_KEYS", "0", "MAX_KEYS=0 must be at least 1"),
        ("MAX_TRIALS", "9" * 5000, "must be a whole number"),
        ("MAX_TRIAL_TIER", "huge", "MAX_TRIAL_TIER='huge' must be one of tiny, small, medium, large"),
        ("CREATES_OPEN", "perhaps", "CREATES_OPEN='perhaps' must be 1 or 0"),
        ("STAR_USD", "much", "STAR_USD='much' must be a number"),
        ("STAR_USD", "0", "STAR_USD=0 must be more than 0"),
        ("STAR_USD", "NaN", "STAR_USD=NaN must be more than 0"),
        ("SELLER_COUNTRY", "Germany", "SELLER_COUNTRY='Germany' must be two letters"),
        ("SUPPORT_EMAIL", "nobody", "SUPPORT_EMAIL='nobody' must be an e-mail address"),
        ("SUPPORT_EMAIL", "help me@example.com", "must be an e-mail address"),
        ("GUMROAD_BUY_URL", "javascript:alert(1)", "GUMROAD_BUY_URL='javascript:alert(1)' must begin with https://"),
        ("GUMROAD_BUY_URL", "https://[::1", "GUMROAD_BUY_URL='https://[::1' must begin with https://"),
        ("LEMONSQUEEZY_BUY_URLS", "tiny=shop", "LEMONSQUEEZY_BUY_URLS='shop' must begin with https://"),
        ("GUMROAD_VARIANTS", "tiny", "GUMROAD_VARIANTS: 'tiny' must look like name=value"),
        ("GUMROAD_PRODUCTS", "huge=1", "GUMROAD_PRODUCTS: 'huge' must be a tier"),
        ("LEMONSQUEEZY_VARIANTS", "tiny:daily=1", "LEMONSQUEEZY_VARIANTS: 'tiny:daily' must be a tier"),
    ],
)
def test_a_wrong_value_of_the_environment_or_of_an_operator_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, problem: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=re.escape(problem)):
        SETTINGS[name].check(text)
    if text:
        monkeypatch.setenv(name, text)
        with pytest.raises(ImproperlyConfigured, match=re.escape(problem)):
            first_values()


def test_operators_cannot_leave_people_without_an_address() -> None:
    with pytest.raises(ImproperlyConfigured, match="SUPPORT_EMAIL: must not be empty"):
        OperatorSettings.SUPPORT_EMAIL.check("")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MAX_KEYS", "7"),
        ("CREATES_OPEN", "0"),
        ("STAR_USD", "0.02"),
        ("SELLER_COUNTRY", "DE"),
        ("ENGINES_CONFIRMED", "n8n,claude-code"),
        ("GUMROAD_PRODUCTS", "tiny=abc,small:annual=def"),
        ("LEMONSQUEEZY_BUY_URLS", "tiny=https://shop.example/?a=b"),
    ],
)
def test_a_value_is_shown_as_it_can_be_typed(name: str, text: str) -> None:
    assert as_text(SETTINGS[name].read(text)) == text


def test_the_environment_comes_before_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (OperatorSettings.MAX_KEYS.first(), OperatorSettings.SIGN_UPS_OPEN.first()) == (100, True)
    monkeypatch.setenv("MAX_KEYS", " 5 ")
    monkeypatch.setenv("SIGN_UPS_OPEN", "No")
    monkeypatch.setenv("SELLER_COUNTRY", "de")
    monkeypatch.setenv("MAX_TRIALS", "")
    values = first_values()
    assert (values["MAX_KEYS"], values["SIGN_UPS_OPEN"], values["SELLER_COUNTRY"]) == (5, False, "DE")
    assert values["MAX_TRIALS"] == 10, "an empty variable counts as none"
