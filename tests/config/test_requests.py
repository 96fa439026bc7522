"""Request ids, in answers and in the log lines of production."""

from __future__ import annotations

import json
import logging
import re

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
