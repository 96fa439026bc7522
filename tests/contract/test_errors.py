"""Every failure is answered with `{error, message}`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings
from rest_framework.test import APIClient

from tests.at_length import some
from tests.contract import spec
from tests.contract.test_document import operations

Document = dict[str, Any]

METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"}
UNKNOWN = {
    "id": "agt_0123456789abcdef01234567",
    "delivery": "evt_0123456789abcdef0123456789abcdef",
    "slug": "nothing",
    "name": "20260101-000000-000000",
    "model": "nothing",
    "provider": "gumroad",
}


def is_an_error(answer: Any, status: int, code: str) -> str:
    """Check that the answer is an error with this status and code. Returns its message."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/json"
    body = answer.json()
    assert set(body) == spec.ERROR
    assert body["error"] == code
    assert body["message"]
    return str(body["message"])


def with_a_body(document: Document) -> Iterator[tuple[str, str]]:
    for method, path, operation in operations(document):
        if "requestBody" in operation:
            yield method, path.format(**UNKNOWN)


@pytest.fixture
def telegram(client: APIClient, settings: Settings) -> None:
    """Send Telegram's secret, because its endpoint checks that before everything else."""
    settings.STARS_WEBHOOK_SECRET = client.defaults["HTTP_X_TELEGRAM_BOT_API_SECRET_TOKEN"] = "of-telegram"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/nothing", "/agents/", "/keys/", "/agents/x/nothing", "/health/", "/%00", "/%ff"])
def test_an_unknown_url_is_an_error_body(api: APIClient, path: str) -> None:
    is_an_error(api.get(path), 404, "NOT_FOUND")


def test_every_method_that_a_path_does_not_have_is_405(client: APIClient, document: Document) -> None:
    for path, methods in some(list(document["paths"].items())):
        for method in METHODS - {name.upper() for name in methods}:
            answer = client.generic(method, path.format(**UNKNOWN))
            is_an_error(answer, 405, "BAD_REQUEST")
            assert set(answer["Allow"].split(", ")) - {"HEAD"} == {name.upper() for name in methods}
            assert answer["Allow"] in answer.json()["message"]


@pytest.mark.usefixtures("telegram")
def test_a_malformed_body_is_refused_before_the_agent_is_looked_up(client: APIClient, document: Document) -> None:
    for method, path in with_a_body(document):
        if path.endswith("/channels/whatsapp"):  # its body is signed with the agent's secret
            continue
        for body in ('{"a": ', '{"a": "\\ud800"}', '{"a": NaN}', "[" * 60_000, "[]", '"text"', "5", "null", "true"):
            is_an_error(client.generic(method, path, body, content_type="application/json"), 400, "BAD_REQUEST")


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_is_not_json_is_415(api: APIClient, content_type: str) -> None:
    answer = api.generic("POST", "/auth/request", "email=ann@example.com", content_type=content_type)
    is_an_error(answer, 415, "BAD_REQUEST")


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    "header", ["", "Bearer nonsense", "Bearer ak_live_nonsense", "Basic YTpi", "Bearer", "Bearer \xff"]
)
def test_every_operation_with_a_credential_refuses_a_bad_one(api: APIClient, document: Document, header: str) -> None:
    for method, path, operation in operations(document):
        if operation["security"] == [{}]:
            continue
        api.credentials(HTTP_AUTHORIZATION=header)
        answer = api.generic(method, path.format(**UNKNOWN), "{}", content_type="application/json")
        is_an_error(answer, 401, "UNAUTHORIZED")
        assert answer["WWW-Authenticate"] == "Bearer"


def test_an_unknown_agent_is_404_on_every_operation(client: APIClient, document: Document) -> None:
    for method, path, _ in some([one for one in operations(document) if one[1].startswith("/agents/{id}")]):
        for junk in (UNKNOWN["id"], "x", "agt_", "%00", "agt_%ff", "a" * 5_000):
            answer = client.generic(
                method, path.format(**{**UNKNOWN, "id": junk}), "{}", content_type="application/json"
            )
            is_an_error(answer, 404, "NOT_FOUND")


def test_the_message_of_a_400_names_the_field(client: APIClient) -> None:
    answer = client.post("/agents", {"personaId": "nobody", "tier": "huge"}, format="json")
    assert "tier" in is_an_error(answer, 400, "BAD_REQUEST")


def test_a_fault_of_ours_is_500_and_quotes_the_request(client: APIClient) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE accounts_apikey RENAME COLUMN name TO other_name")
    answer = client.get("/keys")
    message = is_an_error(answer, 500, "INTERNAL")
    assert answer["Request-Id"] in message
    assert "other_name" not in message


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    "host", ["evil.example", "\xff\xfe", "testserver:port", "[::1", "testserver, testserver", "x" * 9000]
)
def test_a_host_that_is_not_ours_is_400_and_named(api: APIClient, host: str) -> None:
    answer = api.get("/me", HTTP_HOST=host)
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")
    assert answer.json()["message"].startswith("Host: ")


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("host", ["10.1.2.3:8000", "evil.example", "[fe80::1]:8000", "under_score", ""])
def test_probes_are_answered_by_whatever_name_they_come(api: APIClient, host: str) -> None:
    for path in ("/health", "/health/ready"):
        answer = api.get(path, HTTP_HOST=host)
        assert (answer.status_code, answer.json()["status"]) == (200, "ok")


@pytest.mark.usefixtures("db")
def test_html_errors_are_only_where_people_look(api: APIClient) -> None:
    answer = api.get("/admin/nothing/", HTTP_ACCEPT="application/json", follow=True)
    assert answer["Content-Type"].startswith("text/html")
    is_an_error(api.get("/nothing", HTTP_ACCEPT="text/html"), 404, "NOT_FOUND")
    is_an_error(api.get("/agents", HTTP_ACCEPT="text/html"), 401, "UNAUTHORIZED")
