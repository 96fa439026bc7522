from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.accounts.conftest import new_key

pytestmark = pytest.mark.django_db


def test_it_is_the_person_behind_the_session_or_key(ann: APIClient) -> None:
    _, agent = new_key(ann)
    for client in (ann, agent):
        answer = client.get("/me")
        assert answer.status_code == 200
        assert set(answer.json()) == {"user"}
        assert set(answer.json()["user"]) == {"id", "email"}
        assert answer.json()["user"]["email"] == "ann@example.com"


def test_it_needs_a_token(api: APIClient) -> None:
    answer = api.get("/me")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
