"""Request ids in answers and in production logs."""

from __future__ import annotations

import json
import logging
import re

import pytest
from django.test import Client
from rest_framework.test import APIClient

from config.requests import JsonFormatter, request_id

RECORD = logging.LogRecord("agents", logging.WARNING, __file__, 1, "pod %s is gone", ("pod-1",), None)


def test_each_answer_carries_an_id_of_its_own(api: APIClient) -> None:
    ids = {api.get("/health")["Request-Id"] for _ in range(3)}
    assert len(ids) == 3
    assert all(re.fullmatch(r"req_[0-9a-f]{24}", one) for one in ids)


def test_a_log_line_is_one_json_object() -> None:
    line = json.loads(JsonFormatter().format(RECORD))
    assert (line["levelname"], line["name"], line["message"]) == ("WARNING", "agents", "pod pod-1 is gone")
    assert "requestId" not in line


def test_a_log_line_of_a_request_carries_its_id() -> None:
    token = request_id.set("req_1")
    try:
        assert json.loads(JsonFormatter().format(RECORD))["requestId"] == "req_1"
    finally:
        request_id.reset(token)


LONG_FORM = {"a": "%" * 65_536}


@pytest.mark.django_db
def test_a_long_form_is_not_read_for_a_stranger() -> None:
    refused = Client(enforce_csrf_checks=True).post("/agents", LONG_FORM)
    assert (refused.status_code, refused.json()["message"]) == (413, "body: larger than 65536 bytes")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/admin/agents/agent/", "/sign-in", "/account/keys"])
def test_a_long_form_is_refused_in_words_where_people_look(path: str) -> None:
    refused = Client(enforce_csrf_checks=True).post(path, LONG_FORM)
    assert (refused.status_code, refused["Content-Type"]) == (413, "text/html; charset=utf-8")
    assert "too long for this page" in refused.content.decode()


@pytest.mark.django_db
def test_staff_may_send_a_long_form(admin_client: Client) -> None:
    assert admin_client.post("/admin/agents/agent/", LONG_FORM).status_code != 413
