from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
import time_machine
from django.db import connection, transaction
from django.urls import path
from django.utils import timezone
from pytest_django import Settings
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIClient

from accounts import keys
from accounts.authentication import caller
from accounts.idempotency import idempotent, keep
from accounts.models import ApiKey, IdempotentReply
from accounts.serializers import CreateKeySerializer
from config.api import ApiViewSet
from config.errors import Conflict, RateLimited, Unavailable
from config.urls import urlpatterns as real_urls
from tests.accounts.conftest import new_key, with_token

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Crash(BaseException):
    """The process dies at this point."""


def _nothing() -> None:
    """Does nothing."""


class ThingsViewSet(ApiViewSet):
    """Makes an API key, as an example, and stores the reply in the same transaction or afterwards."""

    serializer_class = CreateKeySerializer
    before: ClassVar[Callable[[], None]] = staticmethod(_nothing)
    within: ClassVar[Callable[[], None]] = staticmethod(_nothing)

    @idempotent
    def create(self, request: Request, id: str = "") -> Response:
        name = self.valid(request)["name"]
        type(self).before()
        with transaction.atomic():
            key, secret = keys.create(caller(request), name=name, now=timezone.now())
            type(self).within()
            return keep(Response({"id": key.pk, "secret": secret}, headers={"Location": f"/things/{key.pk}"}))

    @idempotent
    def update(self, request: Request, id: str = "") -> Response:
        key, _secret = keys.create(caller(request), **self.valid(request), now=timezone.now())
        type(self).within()
        return Response({"id": key.pk})

    @idempotent
    def destroy(self, request: Request, id: str = "") -> Response:
        return Response(status=204)


urlpatterns = [
    path("things", ThingsViewSet.as_view({"post": "create", "put": "update", "delete": "destroy"})),
    path("things/<str:id>", ThingsViewSet.as_view({"post": "create"})),
    *real_urls,
]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _things(settings: Settings) -> Iterator[None]:
    settings.ROOT_URLCONF = __name__
    yield
    ThingsViewSet.before = ThingsViewSet.within = staticmethod(_nothing)


def _post(client: APIClient, body: Any = None, key: str = "k-1", url: str = "/things") -> Any:
    return client.post(url, body or {"name": "x"}, format="json", headers={"idempotency-key": key})


def _made() -> int:
    return ApiKey.objects.count()


def test_without_the_header_each_request_is_done(ann: APIClient) -> None:
    for _ in range(2):
        ann.post("/things", {"name": "x"}, format="json")
    assert _made() == 2
    assert not IdempotentReply.objects.exists()


def test_the_same_request_again_is_answered_the_same_and_not_done_again(ann: APIClient) -> None:
    first, again = _post(ann), _post(ann)
    assert first.status_code == again.status_code == 200
    assert again.content == first.content
    assert again["Location"] == first["Location"]
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    assert _made() == 1


def test_the_same_body_may_be_spelled_differently(ann: APIClient) -> None:
    bodies = ['{"name": "x", "y": [1, 2]}', '{ "y":[1,2],\n"name":"\\u0078" }']
    answers = [
        ann.post("/things", body, content_type="application/json", headers={"idempotency-key": "k"}) for body in bodies
    ]
    assert answers[0].content == answers[1].content


def test_another_body_is_422(ann: APIClient) -> None:
    _post(ann)
    for body in ({"name": "y"}, {"name": "x", "more": 1}):
        refused = _post(ann, body)
        assert refused.status_code == 422
        assert refused.json()["error"] == "BAD_REQUEST"
        assert refused.json()["message"].startswith("Idempotency-Key: ")
    assert _made() == 1


def test_another_query_is_422(ann: APIClient) -> None:
    _post(ann)
    assert _post(ann, url="/things?other=true").status_code == 422


def test_keys_belong_to_a_user_a_method_and_a_path(ann: APIClient, bob: APIClient) -> None:
    _post(ann)
    _post(bob)
    _post(ann, url="/things/a")
    _post(ann, url="/things/b")
    ann.put("/things", {"name": "x"}, format="json", headers={"idempotency-key": "k-1"})
    assert _made() == 5


def test_a_session_and_a_key_of_one_person_share_their_replies(ann: APIClient) -> None:
    _, agent = new_key(ann)
    assert _post(ann).content == _post(agent).content


@pytest.mark.parametrize("key", ["", "x" * 256, "ключ", "a\tb", "a\x00b", "\x7f"])
def test_a_wrong_key_is_refused_by_name(ann: APIClient, key: str) -> None:
    refused = ann.post("/things", {"name": "x"}, format="json", HTTP_IDEMPOTENCY_KEY=key)
    assert refused.status_code == 400
    assert refused.json()["message"] == "Idempotency-Key: must have 1 to 255 printable ASCII characters"
    assert _made() == 0


def test_keys_of_one_to_255_characters_are_taken(ann: APIClient) -> None:
    for key in ("x", "x" * 255, '"quoted, 8e03978e-40d5"'):
        assert _post(ann, key=key).status_code == 200


def test_a_long_path_or_junk_in_it_is_no_trouble(ann: APIClient) -> None:
    for url in ("/things/" + "x" * 3000, "/things/%00", "/things/%ed%a0%80", "/things/ж"):
        assert _post(ann, url=url).status_code == 200


def test_refusals_are_kept_too(ann: APIClient) -> None:
    first, again = _post(ann, {"name": 5}), _post(ann, {"name": 5})
    assert first.status_code == again.status_code == 400
    assert first.content == again.content
    assert again["Idempotent-Replayed"] == "true"


def test_what_a_rule_refuses_is_kept(ann: APIClient) -> None:
    def refuse() -> None:
        raise Conflict("taken", headers={"Link": "</x>; rel=help"})

    ThingsViewSet.within = staticmethod(refuse)
    first = _post(ann)
    ThingsViewSet.within = staticmethod(_nothing)
    again = _post(ann)
    assert first.status_code == again.status_code == 409
    assert again["Link"] == "</x>; rel=help"
    assert _made() == 0


@pytest.mark.parametrize(
    "trouble", [RuntimeError("bug"), Unavailable("down"), RateLimited("slow", retry_after=3)], ids=["500", "503", "429"]
)
def test_failures_and_rate_limits_are_not_kept(ann: APIClient, trouble: Exception) -> None:
    def fail() -> None:
        raise trouble

    ThingsViewSet.within = staticmethod(fail)
    assert _post(ann).status_code in {429, 500, 503}
    ThingsViewSet.within = staticmethod(_nothing)
    answer = _post(ann)
    assert answer.status_code == 200
    assert "Idempotent-Replayed" not in answer
    assert _made() == 1


def test_a_malformed_body_reserves_nothing(ann: APIClient) -> None:
    for raw in ("{", "\x00"):
        answer = ann.post("/things", raw, content_type="application/json", headers={"idempotency-key": "k-1"})
        assert answer.status_code == 400
    assert not IdempotentReply.objects.exists()
    assert _post(ann).status_code == 200


def test_a_reply_without_a_body_is_replayed_without_one(ann: APIClient) -> None:
    first, again = (ann.delete("/things", headers={"idempotency-key": "k-1"}) for _ in range(2))
    assert first.status_code == again.status_code == 204
    assert first.content == again.content == b""
    assert again["Idempotent-Replayed"] == "true"


def test_the_stored_reply_is_encrypted(ann: APIClient) -> None:
    secret = _post(ann).json()["secret"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(r)::text FROM accounts_idempotentreply r")
        (stored,) = cursor.fetchone()
    assert secret not in stored
    assert IdempotentReply.objects.get().reply["body"]["secret"] == secret


def test_replies_are_kept_24_hours(ann: APIClient) -> None:
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:
        first = _post(ann)
        clock.shift(timedelta(hours=24) - timedelta(seconds=1))
        assert _post(ann).content == first.content
        clock.shift(1)
        assert _post(ann).content != first.content
        assert _made() == 2


def test_while_the_first_is_running_a_repeat_is_told_to_wait(ann: APIClient) -> None:
    def repeat() -> None:
        ThingsViewSet.before = staticmethod(_nothing)
        refused = _post(ann)
        assert refused.status_code == 409
        assert refused.json()["error"] == "CONFLICT"
        assert int(refused["Retry-After"]) > 0

    ThingsViewSet.before = staticmethod(repeat)
    assert _post(ann).status_code == 200
    assert _made() == 1


def _crash() -> None:
    raise Crash


def _die(monkeypatch: pytest.MonkeyPatch, client: APIClient, method: str = "post") -> None:
    """Let the process die in the middle of the request: no code runs after this point."""
    monkeypatch.setattr("accounts.replies.release", lambda _: None)
    with pytest.raises(Crash):
        getattr(client, method)("/things", {"name": "x"}, format="json", headers={"idempotency-key": "k-1"})
    monkeypatch.undo()


def test_a_crash_before_the_transaction_ends_leaves_a_reservation_that_is_taken_over(
    ann: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:
        ThingsViewSet.within = staticmethod(_crash)
        _die(monkeypatch, ann)
        ThingsViewSet.within = staticmethod(_nothing)
        clock.shift(59)
        assert _post(ann).status_code == 409
        clock.shift(1)
        assert _post(ann).status_code == 200
        assert _made() == 1


def test_one_who_was_slow_and_taken_over_makes_nothing(ann: APIClient) -> None:
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:

        def dawdle() -> None:
            ThingsViewSet.before = staticmethod(_nothing)
            clock.shift(61)
            assert _post(ann).status_code == 200

        ThingsViewSet.before = staticmethod(dawdle)
        late = _post(ann)
        assert late.status_code == 409
        assert _made() == 1
        assert _post(ann)["Idempotent-Replayed"] == "true"


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_is_done_and_all_end_with_its_reply(ann: APIClient) -> None:
    token = ann._credentials["HTTP_AUTHORIZATION"].removeprefix("Bearer ")  # type: ignore[attr-defined]
    start = threading.Barrier(8)
    replies: list[str] = []

    def ask() -> None:
        client = with_token(token)
        start.wait()
        while (answer := _post(client)).status_code == 409:
            pass
        replies.append(json.dumps(answer.json()))
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(replies)) == 1
    assert _made() == 1


def test_an_action_that_does_not_keep_has_its_reply_stored_after_it(ann: APIClient) -> None:
    headers = {"idempotency-key": "k-1"}
    first = ann.put("/things", {"name": "x"}, format="json", headers=headers)
    again = ann.put("/things", {"name": "x"}, format="json", headers=headers)
    assert first.content == again.content
    assert again["Idempotent-Replayed"] == "true"
    assert _made() == 1


def test_without_a_token_nothing_is_reserved(api: APIClient) -> None:
    assert _post(api).status_code == 401
    assert not IdempotentReply.objects.exists()
