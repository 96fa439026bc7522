"""Every mail in every language: complete as text and as HTML, and with a link to the right page."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings as conf
from django.urls import resolve
from pytest_django import Settings

from accounts import emails
from config import outgoing_mail
from config.mail_forms import FORMS, MailForm, Why
from config.outgoing_mail import Mail
from pages.account.base import AccountPageViewSet
from pages.elsewhere import ElsewherePage
from pages.public.base import PublicPageViewSet

LANGUAGES = [code for code, _ in conf.LANGUAGES]
WORDS = Path(conf.BASE_DIR) / "templates" / "emails"
SUBJECT_AT_MOST = 160
PLACE = re.compile(r"https?://[^\s,)]+")
HELP = "help@pods.example"
HOSTILE = "\r\nBcc: eve@example.com\n\n\u202e<script>alert(1)</script>{{ code }}[button]\u2066" + "x" * 200


class Marks(HTMLParser):
    """The elements of a mail, and the text that a reader sees."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open = [*self.open, tag] if tag not in {"meta", "br"} else self.open

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "title"} & set(self.open):
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def mails(hostile: str | None = None) -> Iterator[tuple[str, MailForm, Mapping[str, Any], Mail]]:
    for name, form in FORMS.items():
        for case in ("", *form.cases):
            values = form.values(case)
            if hostile is not None:
                values = {key: _evil(key, value, hostile) for key, value in values.items()}
            for lang in LANGUAGES:
                yield name, form, values, outgoing_mail.rendered(name, lang=lang, **values)


def _evil(key: str, value: Any, hostile: str) -> Any:
    """Hostile text for the parts that other people write: names, titles, reasons. Ids, dates and addresses are ours."""
    theirs = {"name", "title", "reason"}
    return [hostile] if isinstance(value, list) and value else hostile if key in theirs else value


@pytest.fixture(autouse=True)
def _installation(settings: Settings) -> None:
    settings.BASE_URL = "https://pods.example"
    settings.SUPPORT_EMAIL = HELP


def test_there_are_words_for_every_mail_in_every_language_and_no_others() -> None:
    there = {path.name for path in WORDS.iterdir()} - {"letter.html", "letter.txt"}
    assert there == {f"{name}.{lang}.txt" for name in (*FORMS, "frame") for lang in LANGUAGES}


def test_every_mail_is_whole_in_every_language() -> None:
    for name, form, values, mail in mails():
        seen = Marks(mail.html)
        assert mail.lang == seen.all("html")[0]["lang"], name
        assert seen.all("body")[0]["dir"] == "ltr"
        assert mail.subject
        assert len(mail.subject) <= SUBJECT_AT_MOST
        for words in (mail.subject, mail.text, " ".join(seen.words)):
            assert not re.search(r"[{}]|%\(|\[button\]|Subject:|Button:|None|\(\)", words), (name, mail.lang, words)
        assert flowing("Agentpods", mail.text.replace("\n--\n", "\n")) == flowing(*seen.words), name
        assert all(str(values[key]) in mail.text for key in values.keys() & {"name", "code", "reason"}), name
        assert (HELP in mail.text) == form.has_support
        assert ("pods.example" in mail.text.partition("\n--\n")[2]) or form.why is Why.SAID
        if form.call:
            assert f"{form.call.split(' ')[0]} https://pods.example/" in mail.text


def test_every_link_of_a_mail_is_a_page_of_ours_or_the_bill_that_it_was_given() -> None:
    for name, form, values, mail in mails():
        seen = Marks(mail.html)
        links = [str(one["href"]) for one in seen.all("a")]
        told = PLACE.findall(re.sub(r"(GET|PUT|POST|PATCH) \S+", "", mail.text))
        assert name == "sign_in_code" or set(told) == {one for one in links if not one.startswith("mailto:")}
        for link in {one.rstrip(".") for one in (*links, *told)} - {f"mailto:{HELP}", values.get("invoice_url")}:
            assert link.startswith("https://pods.example"), (name, link)
            assert leads_to_a_page(urlsplit(link).path or "/"), (name, link)
        assert (form.link is not None) == any("button" in str(one.get("class")) for one in seen.all("a"))


def flowing(*words: str) -> str:
    """The texts in sequence without separators: in the text version a button ends with a colon."""
    return re.sub(r"[\s:]", "", "".join(words))


def leads_to_a_page(path: str) -> bool:
    found = resolve(path).func
    view, actions = found.cls, found.actions  # type: ignore[attr-defined]  # a viewset's
    return issubclass(view, AccountPageViewSet | PublicPageViewSet) and view is not ElsewherePage and "get" in actions


def test_a_mail_loads_nothing_and_needs_no_pictures() -> None:
    for name, _, _, mail in mails():
        seen = Marks(mail.html)
        assert {tag for tag, _ in seen.elements} <= {
            *("html", "head", "meta", "title", "style", "body", "div", "p", "a", "br", "span"),
        }, name
        assert not re.search(r"url\(|@import|src=", mail.html)
        assert not seen.open


def test_what_others_write_does_a_mail_no_harm() -> None:
    for name, _, _, mail in mails(HOSTILE):
        seen = Marks(mail.html)
        assert not seen.all("script"), name
        assert not seen.open
        assert "\n" not in mail.subject
        assert len(mail.subject) <= SUBJECT_AT_MOST
        assert not set(mail.subject + mail.text + mail.html) & set("\r\u202e\u2066\0")
        assert "alert(1)" not in mail.html or html.escape("<script>alert(1)</script>") in mail.html
        if name not in {"persona_taken_down", "article_taken_down", "author_banned"}:  # a reason keeps its lines
            assert not [line for line in mail.text.splitlines() if line.startswith(("Bcc:", "<script>"))]
        assert not [one for one in seen.all("a") if "eve@" in str(one["href"])]


def test_a_mail_with_other_values_than_its_form_has_is_a_mistake() -> None:
    with pytest.raises(outgoing_mail.WrongValues, match="email"):
        outgoing_mail.rendered("sign_in_code", lang="en", code="123456", minutes=10)


def test_nobody_is_told_to_write_to_an_address_that_nobody_reads(settings: Settings) -> None:
    settings.SUPPORT_EMAIL = "no-reply@pods.example"
    for _, _, _, mail in mails():
        assert "no-reply" not in mail.text + mail.html


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_sign_in_code_comes_in_the_readers_language(lang: str) -> None:
    message = emails.sign_in_code("ann@example.com", code="123456", lang=lang, minutes=10)
    ((shown, kind),) = message.alternatives
    assert message.extra_headers["Content-Language"] == lang
    assert kind == "text/html"
    assert f'<html lang="{lang}">' in str(shown)
    assert "123456" in message.body
    assert "123456" in str(shown)
    assert "123456" not in message.subject
