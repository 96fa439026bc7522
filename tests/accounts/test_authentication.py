from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest
import time_machine
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts.models import ApiKey, User
from tests.accounts.conftest import new_key
from tests.at_length import examples

pytestmark = pytest.mark.unmeasured

ENDPOINTS = [("get", "/me"), ("get", "/keys"), ("post", "/keys"), ("delete", "/keys/x"), ("post", "/auth/logout")]


@pytest.mark.django_db
@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
@pytest.mark.parametrize(
    ("header", "message"),
    [
        (None, "Authorization: send `Bearer <token>`"),
        ("", "Authorization: send `Bearer <token>`"),
        ("Bearer", "Authorization: must be the word Bearer, one space and the token"),
        ("Bearer ", "Authorization: must be the word Bearer, one space and the token"),
        ("Bearer a b", "Authorization: must be the word Bearer, one space and the token"),
        ("Bearer a, Bearer b", "Authorization: must be the word Bearer, one space and the token"),
        ("Basic dXNlcjpwYXNz", "Authorization: must be the word Bearer, one space and the token"),
        ("ak_live_x", "Authorization: must be the word Bearer, one space and the token"),
        ("Bearer \xff\xfe", "Authorization: must be the word Bearer, one space and the token"),
        ("Bearer a\x00b", "Authorization: must be the word Bearer, one space and the token"),
        ("Bearer " + "x" * 10_000, "Authorization: must be the word Bearer, one space and the token"),
        ("Bearer nonsense", "Invalid or expired session token"),
        ("Bearer st_live_" + "0" * 64, "Invalid or expired session token"),
        ("Bearer ak_live_", "Invalid or revoked API key"),
        ("Bearer ak_live_" + "A" * 40, "Invalid or revoked API key"),
        ("bearer ak_live_" + "A" * 40, "Invalid or revoked API key"),
    ],
)
def test_what_is_no_good_token_is_a_clear_401(
    api: APIClient, method: str, path: str, header: str | None, message: str
) -> None:
    extra = {} if header is None else {"HTTP_AUTHORIZATION": header}
    answer = getattr(api, method)(path, **extra)
    assert answer.status_code == 401
    assert answer.json()["error"] == "UNAUTHORIZED"
    assert answer.json()["message"].startswith(message)
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.django_db
@given(header=st.text(alphabet=st.characters(max_codepoint=255)))
@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_header_whatsoever_is_anything_but_401(api: APIClient, header: str) -> None:
    assert api.get("/me", HTTP_AUTHORIZATION=header).status_code == 401


@pytest.mark.django_db
def test_the_scheme_is_read_in_any_case(ann: APIClient, api: APIClient) -> None:
    secret = ann.post("/keys", {"name": "a"}, format="json").json()["secret"]
    assert api.get("/me", HTTP_AUTHORIZATION=f"bEARER  {secret} ").status_code == 200


@pytest.mark.django_db
def test_a_revoked_key_is_told_so_on_every_endpoint(ann: APIClient) -> None:
    key, agent = new_key(ann)
    ann.delete(f"/keys/{key['id']}")
    for method, path in [*ENDPOINTS, ("get", "/agents"), ("post", "/agents")]:
        answer = getattr(agent, method)(path)
        assert answer.status_code == 401, path
        assert answer.json() == {"error": "UNAUTHORIZED", "message": "Invalid or revoked API key"}


@pytest.mark.django_db
def test_a_suspended_accounts_keys_and_sessions_answer_401(ann: APIClient) -> None:
    _, agent = new_key(ann)
    User.objects.update(is_active=False)
    assert ann.get("/me").status_code == 401
    assert agent.get("/me").json()["message"] == "Invalid or revoked API key"


@pytest.mark.django_db
def test_a_cookie_is_no_credential(api: APIClient) -> None:
    operator = User.objects.create_superuser("op@example.com", "a good long password")
    api.force_login(operator)
    assert api.get("/me").status_code == 401


@pytest.mark.django_db(transaction=True)
def test_many_threads_on_one_key_note_its_use_once(ann: APIClient) -> None:
    _, agent = new_key(ann)
    writes: list[str] = []

    def note(execute: object, sql: str, *rest: object) -> object:
        if sql.startswith("UPDATE"):
            writes.append(sql)
        return execute(sql, *rest)  # type: ignore[operator]

    def use() -> None:
        with connection.execute_wrapper(note):
            for _ in range(5):
                assert agent.get("/me").status_code == 200
        connection.close()

    with time_machine.travel(datetime.now(UTC), tick=False):
        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert 1 <= len(writes) <= 8
    assert ApiKey.objects.get().last_used_at is not None
