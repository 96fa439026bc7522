from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.accounts.conftest import SignIn, new_key

pytestmark = pytest.mark.django_db


def test_the_token_of_the_call_stops_working_and_others_stay(sign_in: SignIn) -> None:
    here, elsewhere = sign_in(), sign_in()
    _, agent = new_key(here)
    answer = here.post("/auth/logout")
    assert answer.status_code == 204
    assert answer.content == b""
    assert here.get("/me").status_code == 401
    assert here.post("/auth/logout").status_code == 401
    assert elsewhere.get("/me").status_code == 200
    assert agent.get("/me").status_code == 200


def test_a_key_cannot_sign_out(ann: APIClient) -> None:
    _, agent = new_key(ann)
    answer = agent.post("/auth/logout")
    assert answer.status_code == 403
    assert answer.json()["error"] == "FORBIDDEN"


def test_without_a_token_there_is_nothing_to_sign_out(api: APIClient) -> None:
    assert api.post("/auth/logout").status_code == 401
