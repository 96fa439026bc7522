from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import keys
from accounts.errors import TooManyKeys
from accounts.models import ApiKey, User
from config import docs
from config.crypto import sha256
from tests.accounts.conftest import new_key, with_token

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
KEY_FIELDS = {"id", "name", "prefix", "createdAt", "lastUsedAt", "revokedAt"}

pytestmark = pytest.mark.django_db


def test_a_new_key_shows_its_secret_once(ann: APIClient) -> None:
    answer = ann.post("/keys", {"name": "my agent"}, format="json")
    assert answer.status_code == 200
    key, secret = answer.json()["key"], answer.json()["secret"]
    assert set(answer.json()) == {"key", "secret"}
    assert set(key) == KEY_FIELDS
    assert key["id"].startswith("key_")
    assert re.fullmatch(r"ak_live_[A-Za-z0-9]{40}", secret)
    assert key["prefix"] == secret[:12]
    assert (key["name"], key["lastUsedAt"], key["revokedAt"]) == ("my agent", None, None)
    assert secret not in ann.get("/keys").content.decode()


def test_the_secret_is_stored_as_a_digest_alone(ann: APIClient) -> None:
    secret = ann.post("/keys", {"name": "a"}, format="json").json()["secret"]
    row = ApiKey.objects.get()
    assert row.digest == sha256(secret)
    assert secret not in str(vars(row))


def test_a_key_has_the_rights_of_its_person(ann: APIClient) -> None:
    _, agent = new_key(ann)
    assert agent.get("/me").json() == ann.get("/me").json()


def test_keys_are_listed_newest_first_to_sessions_and_keys(ann: APIClient) -> None:
    _, agent = new_key(ann, "one")
    new_key(ann, "two")
    new_key(ann, "three")
    for client in (ann, agent):
        listed = client.get("/keys").json()
        assert set(listed) == {"keys"}
        assert [key["name"] for key in listed["keys"]] == ["three", "two", "one"]
        assert all(set(key) == KEY_FIELDS for key in listed["keys"])


def test_a_key_can_neither_create_nor_revoke_keys(ann: APIClient) -> None:
    key, agent = new_key(ann)
    for answer in (
        agent.post("/keys", {"name": "x"}, format="json"),
        agent.post("/keys", {"name": 5}, format="json"),
        agent.delete(f"/keys/{key['id']}"),
        agent.delete("/keys/key_unknown"),
    ):
        assert answer.status_code == 403
        assert answer.json()["error"] == "FORBIDDEN"
        assert "session token" in answer.json()["message"]
    assert ApiKey.objects.filter(revoked_at=None).count() == 1


def test_a_revoked_key_stops_working_at_once_but_stays_in_history(ann: APIClient) -> None:
    key, agent = new_key(ann)
    revoked = ann.delete(f"/keys/{key['id']}")
    assert revoked.status_code == 204
    assert revoked.content == b""
    refused = agent.get("/me")
    assert refused.status_code == 401
    assert refused.json() == {"error": "UNAUTHORIZED", "message": "Invalid or revoked API key"}
    (listed,) = ann.get("/keys").json()["keys"]
    assert listed["revokedAt"] is not None


def test_revoking_twice_is_204_and_keeps_the_first_time(ann: APIClient) -> None:
    key, _ = new_key(ann)
    assert ann.delete(f"/keys/{key['id']}").status_code == 204
    first = ann.get("/keys").json()
    assert ann.delete(f"/keys/{key['id']}").status_code == 204
    assert ann.get("/keys").json() == first


def test_anothers_key_is_not_found(ann: APIClient, bob: APIClient) -> None:
    key, agent = new_key(ann)
    answer = bob.delete(f"/keys/{key['id']}")
    assert answer.status_code == 404
    assert answer.json()["error"] == "NOT_FOUND"
    assert agent.get("/me").status_code == 200
    assert bob.get("/keys").json() == {"keys": []}


@pytest.mark.parametrize(
    "id", ["key_" + "0" * 24, "usr_" + "0" * 24, "x", "key_%00", "%00", "%ed%a0%80", "k" * 5000, "ключ"]
)
def test_an_unknown_key_is_not_found(ann: APIClient, id: str) -> None:
    answer = ann.delete(f"/keys/{id}")
    assert answer.status_code == 404
    assert answer.json()["error"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("a", "a"),
        ("x" * 60, "x" * 60),
        ("🤖" * 60, "🤖" * 60),
        ("  padded \n", "padded"),
        (f"   {'x' * 60}   ", "x" * 60),
        ('it\'s <b>"fine"</b> %s {{ x }}', 'it\'s <b>"fine"</b> %s {{ x }}'),
    ],
)
def test_a_name_is_trimmed_before_its_length_counts(ann: APIClient, name: str, stored: str) -> None:
    answer = ann.post("/keys", {"name": name}, format="json")
    assert answer.status_code == 200
    assert answer.json()["key"]["name"] == stored


@pytest.mark.parametrize(
    ("name", "fits"),
    [("x" * 61, False), (f" {'x' * 60} ", True), ("\x1e" + "*" * 60, True), ("  ", False), ("x", True)],
)
def test_the_document_says_of_names_what_the_service_does(ann: APIClient, name: str, fits: bool) -> None:
    """`maxLength` alone would also count spaces that the service trims."""
    pattern = json.loads(docs.document().body)["components"]["schemas"]["KeyNameRequest"]["properties"]["name"][
        "pattern"
    ]
    assert (re.search(pattern, name) is not None) == fits
    assert (ann.post("/keys", {"name": name}, format="json").status_code == 200) == fits


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (None, "name: came as null; give a value"),
        (5, "name: must be a string, not a number"),
        (False, "name: must be a string, not a boolean"),
        (["a"], "name: must be a string, not an array"),
        ({"a": "b"}, "name: must be a string, not an object"),
        ("", "name: came blank; give a text"),
        ("   \t\n", "name: came blank; give a text"),
        ("x" * 61, "name: has 61 characters; at most 60"),
        ("x" * 60_000, "name: has 60000 characters; at most 60"),
        ("a\nb", "name: may not contain control characters"),
        ("a\x1b[31mb", "name: may not contain control characters"),
        ("a\x7fb", "name: may not contain control characters"),
        ("a\x85b", "name: may not contain control characters"),
    ],
)
def test_a_wrong_name_is_refused_by_name(ann: APIClient, name: object, problem: str) -> None:
    answer = ann.post("/keys", {"name": name}, format="json")
    assert answer.status_code == 400
    assert answer.json() == {"error": "BAD_REQUEST", "message": problem}
    assert not ApiKey.objects.exists()


def test_a_missing_name_and_a_body_that_is_no_object_are_refused(ann: APIClient) -> None:
    assert ann.post("/keys", {}, format="json").json()["message"] == "name: is missing, and this call needs it"
    for raw in ("[]", "5", "null", "{", '{"name": "\\u0000"}', "x" * 1_100_000):
        answer = ann.post("/keys", raw, content_type="application/json")
        assert answer.status_code in {400, 413}
        assert set(answer.json()) == {"error", "message"}
    assert ann.post("/keys", "name=a", content_type="application/x-www-form-urlencoded").status_code == 415


def test_last_used_is_exact_to_a_minute(ann: APIClient) -> None:
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:
        start = datetime.now(UTC)
        _, agent = new_key(ann)
        used = []
        for seconds in (0, 59, 2):
            clock.shift(seconds)
            agent.get("/me")
            used.append((ApiKey.objects.get().last_used_at - start).total_seconds())  # type: ignore[operator]
        assert used == [0, 0, 61]
        assert ann.get("/keys").json()["keys"][0]["lastUsedAt"] is not None


def test_of_uses_at_once_one_alone_is_written_though_another_began_earlier(ann: APIClient) -> None:
    """Both threads have read the row before either of them writes it."""
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:
        _, agent = new_key(ann)
        agent.get("/me")
        ApiKey.objects.update(last_used_at=None)
        clock.shift(-0.5)
        agent.get("/me")
        assert ApiKey.objects.get().last_used_at is None


def test_a_request_with_a_key_is_one_query_and_one_write_a_minute(ann: APIClient) -> None:
    _, agent = new_key(ann)
    agent.get("/me")
    with CaptureQueriesContext(connection) as queries:
        agent.get("/me")
    assert len(queries) == 1


def test_more_than_a_page_of_keys_comes_in_pages(ann: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "PAGE_SIZE", 2)
    with time_machine.travel(datetime.now(UTC), tick=False):  # all at the same time, so the id decides
        for number in range(5):
            new_key(ann, str(number))
    found, url = [], "/keys"
    while url:
        answer = ann.get(url)
        page = answer.json()["keys"]
        assert len(page) <= 2
        found += [key["id"] for key in page]
        link = re.fullmatch(r'<http://[^/]+(/keys\?cursor=key_[0-9a-f]+)>; rel="next"', answer.get("Link", ""))
        url = link[1] if link else ""
    assert len(set(found)) == 5


@pytest.mark.parametrize("cursor", ["", "x", "key_" + "0" * 24, "%00", "%ff"])
def test_a_wrong_cursor_is_refused_by_name(ann: APIClient, cursor: str) -> None:
    answer = ann.get(f"/keys?cursor={cursor}")
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("cursor: ")


def test_listing_takes_a_constant_number_of_queries(ann: APIClient) -> None:
    counts = []
    for _ in range(2):
        new_key(ann)
        with CaptureQueriesContext(connection) as queries:
            ann.get("/keys")
        counts.append(len(queries))
    assert counts == [2, 2]


def test_a_key_does_not_expire(ann: APIClient) -> None:
    _, agent = new_key(ann)
    with time_machine.travel(datetime.now(UTC) + timedelta(days=3650)):
        assert agent.get("/me").status_code == 200


def test_an_account_has_a_hundred_live_keys_and_revoking_one_makes_room(ann: APIClient, bob: APIClient) -> None:
    user = User.objects.get(email="ann@example.com")
    made = [keys.create(user, name=f"key {number}", now=NOON)[0] for number in range(100)]
    refused = ann.post("/keys", {"name": "one more"}, format="json")
    assert refused.status_code == 400
    assert refused.json() == {
        "error": "BAD_REQUEST",
        "message": "keys: 100 of at most 100 live API keys exist; revoke one first (GET /keys, DELETE /keys/{id})",
    }
    assert bob.post("/keys", {"name": "his own"}, format="json").status_code == 200
    assert ann.delete(f"/keys/{made[0].pk}").status_code == 204
    assert ann.post("/keys", {"name": "one more"}, format="json").status_code == 200
    assert ann.post("/keys", {"name": "and another"}, format="json").status_code == 400


@pytest.mark.django_db(transaction=True)
def test_of_many_keys_made_at_once_only_so_many_are_made(settings: Settings) -> None:
    settings.MAX_KEYS = 5
    user = User.objects.create_user("ann@example.com")

    def make(number: int) -> bool:
        try:
            keys.create(user, name=f"key {number}", now=NOON)
        except TooManyKeys:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(make, range(20))) == 5
    assert ApiKey.objects.count() == 5


LIMITS = "id,scopes,agentId,expiresAt,spendLimitUsd"


def test_a_key_with_limits_looks_as_any_key_unless_its_limits_are_asked_for(ann: APIClient) -> None:
    wanted = {"name": "a", "scopes": ["pay", "read"], "expiresAt": "2099-01-01T01:00:00+01:00", "spendLimitUsd": 12.5}
    made = ann.post("/keys", wanted, format="json")
    assert made.status_code == 200
    assert set(made.json()["key"]) == KEY_FIELDS
    assert set(ann.get("/keys").json()["keys"][0]) == KEY_FIELDS
    (shown,) = ann.get("/keys", {"fields": LIMITS}).json()["keys"]
    assert shown == {
        "id": made.json()["key"]["id"],
        "scopes": ["read", "pay"],
        "agentId": None,
        "expiresAt": "2099-01-01T00:00:00Z",
        "spendLimitUsd": 12.5,
    }


def test_a_key_without_limits_or_with_nulls_is_a_full_key(ann: APIClient) -> None:
    nulls = dict.fromkeys(("scopes", "agentId", "expiresAt", "spendLimitUsd"))
    for body in ({"name": "a"}, {"name": "a", **nulls}):
        client = with_token(ann.post("/keys", body, format="json").json()["secret"])
        assert client.get("/billing-details").status_code == 200
    assert [key["scopes"] for key in ann.get("/keys", {"fields": "scopes"}).json()["keys"]] == [None, None]


def test_a_limited_key_sees_itself_alone_and_makes_no_key(ann: APIClient) -> None:
    new_key(ann)
    made = ann.post("/keys", {"name": "b", "scopes": ["read", "operate", "pay"]}, format="json").json()
    limited = with_token(made["secret"])
    assert [key["id"] for key in limited.get("/keys").json()["keys"]] == [made["key"]["id"]]
    assert limited.get("/keys", {"fields": "scopes"}).json() == {"keys": [{"scopes": ["read", "operate", "pay"]}]}
    for wanted in ({"name": "c"}, {"name": "c", "scopes": ["read"]}):
        assert limited.post("/keys", wanted, format="json").status_code == 403
    assert limited.delete(f"/keys/{made['key']['id']}").status_code == 403
    assert ApiKey.objects.count() == 2


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"scopes": []}, "scopes"),
        ({"usdPerDy": 5}, "usdPerDy: this call takes nothing of this name; allowed: name, scopes, agentId, expiresAt"),
        ({"scopes": ["read"], "agentID": "agt_1"}, "agentID: this call takes nothing of this name; allowed: name"),
        ({"x" * 5000: 5}, "x" * 80 + ": this call"),
        ({"scopes": "read"}, "scopes: must be an array, not a string"),
        ({"scopes": ["admin"]}, "scopes[0]: 'admin' is not one of read, operate, pay"),
        ({"scopes": ["read"] * 4}, "scopes: has 4 elements; at most 3"),
        ({"scopes": [None]}, "scopes[0]"),
        ({"agentId": "agt_" + "0" * 24}, "agentId: a full key has no such limit"),
        ({"scopes": ["read"], "agentId": "agt_" + "0" * 24}, "agentId: you have no such agent"),
        ({"scopes": ["read"], "agentId": "x" * 5000}, "agentId"),
        ({"scopes": ["read"], "agentId": 5}, "agentId: must be a string"),
        ({"expiresAt": "2001-01-01T00:00:00Z"}, "expiresAt: 2001-01-01T00:00:00Z is not in the future: it is "),
        (
            {"expiresAt": "2099-01-01T00:00:00"},
            "expiresAt: '2099-01-01T00:00:00' is not a point in time with its zone, such as",
        ),
        (
            {"expiresAt": "tomorrow"},
            "expiresAt: 'tomorrow' is not a point in time with its zone, such as 2026-11-21T06:30:00Z",
        ),
        ({"expiresAt": "9999-12-31T23:59:59-23:59"}, "expiresAt"),
        ({"expiresAt": 4070908800}, "expiresAt: must be a string"),
        ({"spendLimitUsd": 5}, "spendLimitUsd: a full key has no such limit"),
        ({"scopes": ["operate"], "spendLimitUsd": 5}, 'spendLimitUsd: a key without the scope "pay"'),
        ({"scopes": ["pay"], "spendLimitUsd": 0}, "spendLimitUsd"),
        ({"scopes": ["pay"], "spendLimitUsd": -1}, "spendLimitUsd"),
        ({"scopes": ["pay"], "spendLimitUsd": 0.001}, "spendLimitUsd: has more than 2 decimal places"),
        ({"scopes": ["pay"], "spendLimitUsd": 1e300}, "spendLimitUsd: is too large: at most 10 digits"),
        ({"scopes": ["pay"], "spendLimitUsd": 999999999}, "spendLimitUsd: is too large: at most 8 digits before"),
        ({"scopes": ["pay"], "spendLimitUsd": "5"}, "spendLimitUsd: must be a number, not a string"),
        ({"scopes": ["pay"], "spendLimitUsd": True}, "spendLimitUsd: must be a number, not a boolean"),
    ],
)
def test_wrong_limits_are_refused_by_name(ann: APIClient, limits: dict[str, object], problem: str) -> None:
    answer = ann.post("/keys", {"name": "a", **limits}, format="json")
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(problem)
    assert not ApiKey.objects.exists()


def test_a_key_stops_working_at_its_end_and_makes_room_for_another(ann: APIClient, settings: Settings) -> None:
    settings.MAX_KEYS = 1
    end = datetime.now(UTC) + timedelta(days=30)
    made = ann.post("/keys", {"name": "a", "expiresAt": end.isoformat()}, format="json").json()
    assert ann.post("/keys", {"name": "b"}, format="json").status_code == 400
    client = with_token(made["secret"])
    with time_machine.travel(end - timedelta(seconds=1), tick=False):
        assert client.get("/me").status_code == 200
    with time_machine.travel(end, tick=False):
        refused = client.get("/me")
        told = f"Authorization: this API key expired at {end:%Y-%m-%dT%H:%M:%SZ}; "
        assert (refused.status_code, refused.json()["message"][: len(told)]) == (401, told)
        assert with_token(f"{made['secret'][:-1]}?").get("/me").status_code == 401


def test_that_a_key_expired_is_told_to_who_has_it_alone(ann: APIClient) -> None:
    end = datetime.now(UTC) + timedelta(days=1)
    made, other = (ann.post("/keys", {"name": "a", "expiresAt": end.isoformat()}, format="json").json() for _ in "ab")
    ann.delete(f"/keys/{other['key']['id']}")
    wrong = f"{made['secret'][:-1]}{'a' if made['secret'][-1] != 'a' else 'b'}"
    with time_machine.travel(end + timedelta(days=1), tick=False):
        for secret in (wrong, other["secret"]):
            assert with_token(secret).get("/me").json()["message"] == "Invalid or revoked API key"
        User.objects.update(is_active=False)
        assert with_token(made["secret"]).get("/me").json()["message"] == "Invalid or revoked API key"


def test_the_secret_of_a_limited_key_is_found_by_no_older_release(ann: APIClient) -> None:
    """It looks for the plain digest, and would take the key for a full one."""
    secret = ann.post("/keys", {"name": "a", "scopes": ["read"]}, format="json").json()["secret"]
    assert not ApiKey.objects.filter(digest=sha256(secret)).exists()
