from __future__ import annotations

import json

import pytest
from django.test import Client, RequestFactory
from pytest_django import Settings
from rest_framework.test import APIClient

from config import failures
from pages.languages import ENGLISH
from pages.public import base
from tests.pages.page import Page

FAILURES = {400: failures.bad_request, 403: failures.forbidden, 404: failures.not_found}


@pytest.mark.parametrize("status", FAILURES)
def test_outside_of_views_the_api_fails_in_the_error_body_too(status: int) -> None:
    answer = FAILURES[status](RequestFactory().get("/agents"))
    assert answer.status_code == status
    assert set(json.loads(answer.content)) == {"error", "message"}


@pytest.mark.parametrize("status", FAILURES)
def test_where_people_look_a_failure_is_a_page(status: int) -> None:
    answer = FAILURES[status](RequestFactory().get("/admin/x"))
    assert answer.status_code == status
    assert answer["Content-Type"].startswith("text/html")


def test_a_fault_of_ours_is_500_for_programs_and_people() -> None:
    assert json.loads(failures.server_error(RequestFactory().get("/x")).content)["error"] == "INTERNAL"
    assert b"Something went wrong" in failures.server_error(RequestFactory().get("/admin/x")).content


def test_another_host_is_told_and_nothing_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    answer = APIClient().get("/tiers", HTTP_HOST="scanner.example")
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")
    assert "DisallowedHost" not in "".join(capfd.readouterr())


BROWSER = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "ru",
}
PROGRAMS: list[dict[str, str]] = [{}, {"Accept": "application/json"}, {"Accept": "text/html"}, {"Accept": "*/*"}]


def test_an_unknown_address_is_a_page_in_the_language_of_who_opens_it_in_a_browser(api: APIClient) -> None:
    for headers in (BROWSER, {"Sec-Fetch-Dest": "document", "Accept-Language": "ru"}):
        answer = api.get("/nothing/of/the/kind", headers=headers)
        page = answer.content.decode()
        assert (answer.status_code, answer["Content-Language"]) == (404, "ru")
        assert "Такой страницы нет" in page
        assert "/ru/#personas" in page
        assert "default-src 'none'" in answer["Content-Security-Policy"]


@pytest.mark.parametrize("headers", PROGRAMS)
def test_a_program_gets_the_error_body_whatever_it_accepts(api: APIClient, headers: dict[str, str]) -> None:
    answer = api.get("/nothing", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (404, "NOT_FOUND")
    assert api.post("/nothing", headers={**BROWSER, **headers}).json()["error"] == "NOT_FOUND"


def test_a_fault_is_told_with_whom_to_write_to_and_what_to_quote(settings: Settings) -> None:
    settings.SUPPORT_EMAIL = "help@example.com"
    answer = failures.server_error(RequestFactory().get("/account/x", headers=BROWSER))
    page = answer.content.decode()
    assert (answer.status_code, answer["Content-Language"]) == (500, "ru")
    assert "mailto:help@example.com" in page
    assert "/ru/status/page" in page


def test_a_form_from_an_old_page_is_told_as_that(client: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post("/admin/login/", {"username": "a"})
    assert answer.status_code == 403
    assert "too old" in answer.content.decode()
    assert "style-src 'unsafe-inline'" in answer["Content-Security-Policy"]
    told = failures.forged(RequestFactory().post("/account/keys"))
    assert "too old" in told.content.decode()
    assert json.loads(failures.forged(RequestFactory().post("/agents")).content)["error"] == "FORBIDDEN"


def test_where_the_page_of_a_failure_fails_there_is_a_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no static files")

    monkeypatch.setattr(failures, "failed", broken)
    answer = failures.server_error(RequestFactory().get("/account"))
    assert (answer.status_code, b"Something went wrong" in answer.content) == (500, True)


@pytest.mark.parametrize("status", [400, 403, 413, 429, 500, 503])
def test_each_failure_of_a_page_says_what_it_is_and_leads_on(status: int) -> None:
    text = base.failed(status, None, ENGLISH).content.decode()
    page = Page(text)
    assert page.one("h1").text.strip()
    assert page.one("title").text.strip().startswith(page.one("h1").text.strip())
    assert [one.attributes["href"] for one in page.all("a") if one.has("button")]
    others = {
        base.failed(other, None, ENGLISH).content for other in (400, 403, 404, 413, 429, 500, 503) if other != status
    }
    assert text.encode() not in others
