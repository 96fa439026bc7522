from __future__ import annotations

import json

import pytest
from django.test import RequestFactory
from rest_framework.test import APIClient

from config import failures

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
