from __future__ import annotations

from rest_framework.test import APIClient


def test_health_touches_no_dependency(api: APIClient) -> None:
    """A query would fail this test, because it has no database mark."""
    response = api.get("/health")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_health_does_not_look_at_a_credential(api: APIClient) -> None:
    assert api.get("/health", HTTP_AUTHORIZATION="Bearer nonsense").status_code == 200
