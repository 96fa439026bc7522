"""The pages of an agent's address come in the language of the reader's browser."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Mapping

import pytest
import requests
from playwright.async_api import expect

from agents.configuring.profile import LANGS
from agents.pod.gateway.words import WORDS
from agents.router import words as routers
from pages.languages import LANGUAGES
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.pod.gateway.talking import talking
from tests.agents.pod.gateway.test_page import words_of
from tests.agents.pod.gateway.visitor import HTML, PASSWORD, cookie_of, get
from tests.browser import width_of
from tests.doubles.bridge import BridgeDouble

CARD = "/.well-known/agent-card.json"


def shows(answer: Mapping[str, str], page: str, lang: str, *names: str) -> bool:
    """Whether this is the page in that language. Its headers must say so to browsers and caches."""
    assert (answer["Content-Language"], answer["Vary"]) == (lang, "Accept-Language")
    said = [html.escape(WORDS[lang][name].replace("{name}", "Ада")) for name in names]
    return f'<html lang="{lang}">' in page and all(text in page for text in said)


def test_each_page_comes_in_the_language_of_the_browser_and_else_in_the_agents(
    start_gateway: StartGateway, bridge: BridgeDouble
) -> None:
    gateway = start_gateway(lang="ru", name="Ада", a2a_enabled=True, a2a_token="a2a-token", **PASSWORD)
    cookie = cookie_of(gateway)
    asked = {"de-DE, ja;q=0.5": "ru", "": "ru"} | {f"de, {lang};q=0.8, *;q=0.1": lang for lang in WORDS}

    def look(path: str, *names: str, **headers: str) -> None:
        for header, lang in asked.items():
            answer = get(gateway, path, **HTML, **{"Accept-Language": header}, **headers)
            assert shows(answer.headers, answer.text, lang, *names), (path, lang)

    look("/", "chat_welcome_title", "chat_new", "noscript", Cookie=cookie)
    look("/login", "login_title", "login_password")
    look("/nothing", "missing_title", "missing_text", "console")
    look("/ticket?t=x", "ticket_title", "ticket_text")
    for header, lang in asked.items():
        said = words_of(get(gateway, "/", Cookie=cookie, **{"Accept-Language": header}).text)
        assert (said["lang"], said["thinking"]) == (lang, WORDS[lang]["chat_thinking"])
    cards = {get(gateway, CARD, **HTML, **{"Accept-Language": header}).text for header in asked}
    assert len(cards) == 1
    assert "отвечает на сообщения текстом" in cards.pop()
    for phase, words in (("starting", "starting_text"), ("failed", "failing_text")):
        bridge.phase = phase
        gateway.look()
        look("/", words)


def send(gateway: GatewayProcess, origin: str, lang: str) -> requests.Response:
    """Send the sign-in form with a wrong password, as a page of that origin would."""
    headers = {**HTML, "Origin": origin, "Accept-Language": lang}
    return requests.post(f"{gateway.public}/login", data={"username": "ada"}, headers=headers, timeout=10)


def test_a_wrong_password_and_what_has_no_words_are_told_in_the_language_of_the_form(
    start_gateway: StartGateway,
) -> None:
    gateway = start_gateway(name="Ада", **PASSWORD)
    for lang in WORDS:
        answer = send(gateway, gateway.public, lang)
        assert answer.status_code == 401
        assert shows(answer.headers, answer.text, lang, "login_wrong")
    answer = send(gateway, "https://evil.example", "tr")
    assert shows(answer.headers, answer.text, "tr", "refused_title")
    assert '<p lang="en">Origin: only the agent' in answer.text


def test_programs_that_look_for_a_card_in_vain_hear_it_in_the_agents_language(gateway: GatewayProcess) -> None:
    for accept, lang in (("application/json", "en"), ("*/*", "en"), ("text/html", "es")):
        answer = get(gateway, CARD, **{"Accept": accept, "Accept-Language": "es"})
        assert (answer.status_code, answer.headers["Content-Language"]) == (404, lang)


@pytest.mark.parametrize(
    ("header", "lang"),
    [
        ("pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        ("es-419", "es"),
        ("ID-id;Q=1.0", "id"),
        ("tr;q=0.2, es;q=0.3, ru;q=0.25", "es"),
        ("tr;q=0.5,es;q=0.5", "tr"),
        ("es;q=0, tr;q=0.001", "tr"),
        ("es;q=0", "en"),
        ("*", "en"),
        ("es;q=2, es;q=-1, es;q=nan, es;q=1e9, es;q=٠.٥, tr ; q=0.1", "tr"),
        ("esp, e, es_ES, es-é, \x80, ;q=1, es;level=1", "en"),
        ("," * 8000, "en"),
        (";q=" * 2000, "en"),
        ("es-" + "a-" * 3000, "en"),
        ("de," * 160 + "es", "es"),  # 482 characters: the whole header is read
        ("de," * 2000 + "es", "en"),  # browsers send no longer headers, so the rest is not read
        ("de," * 166 + "est", "en"),  # Estonian, cut after `es`, does not become Spanish
    ],
)
def test_the_header_is_read_as_its_standard_says_and_not_for_long(
    gateway: GatewayProcess, header: str, lang: str
) -> None:
    answer = get(gateway, "/", **HTML, **{"Accept-Language": header.encode()})  # type: ignore[arg-type]  # as bytes
    assert (answer.status_code, answer.headers["Content-Language"]) == (403, lang)


@pytest.mark.browser
def test_a_browser_shows_each_language_on_a_phone_and_its_script_speaks_it(start_gateway: StartGateway) -> None:
    gateway = start_gateway(name="Adalberto Maximilian von Hohenzollern", **PASSWORD)

    async def look() -> None:
        async with talking(gateway, width=390) as page:
            for lang, words in WORDS.items():
                await page.set_extra_http_headers({"Accept-Language": f"{lang};q=0.9"})
                for place in ("/login", "/"):
                    await page.goto(place, wait_until="networkidle")  # after its own look at the state
                    assert await width_of(page) == 390, (lang, place)
                await expect(page.locator("html")).to_have_attribute("lang", lang)
                await page.evaluate("state('down', 'stopped')")
                for said in (words["chat_why_stopped"], words["chat_help_agent"]):
                    await expect(page.locator("#notice")).to_contain_text(said)
                assert await page.evaluate("box.scrollHeight <= box.clientHeight"), lang  # the text fits in one line
                await page.locator("#list").click()
                assert await width_of(page) == 390, lang

    asyncio.run(look())


def test_every_language_of_the_console_has_the_same_words_with_the_same_places_and_none_is_empty() -> None:
    assert set(LANGS) <= set(LANGUAGES)
    for table in (WORDS, routers.WORDS):
        assert table.keys() == LANGUAGES.keys()
        for lang, words in table.items():
            assert words.keys() == table["en"].keys(), lang
            assert all(text.strip() for text in words.values()), lang
            for name, text in words.items():
                english = table["en"][name]
                assert text.lstrip() == text, (lang, name)
                assert text.endswith(" ") == english.endswith(" "), (lang, name)  # more text follows on the page
                if name != "chat_placeholder":  # in some languages the name would have to change its form there
                    assert places(text) == places(english), (lang, name)


def places(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w*\}|[{}]", text))
