from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session as AdminSession
from rest_framework.test import APIClient

from accounts import purge, tasks
from accounts.models import ApiKey, IdempotentReply, Session, SignInCode, User, WrongTry
from accounts.oauth.models import OAuthClient, OAuthGrant
from config.models import UsedPage
from tests.accounts.conftest import SignIn, new_key

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def test_codes_and_wrong_tries_go_when_they_count_no_more(api: APIClient) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        api.post("/auth/request", {"email": "ann@example.com"}, format="json")
        tasks.send_codes()
        clock.shift(timedelta(minutes=9))
        api.post("/auth/verify", {"email": "ann@example.com", "code": "000000"}, format="json")
        clock.shift(timedelta(minutes=60))
        tasks.purge_old()
        assert (SignInCode.objects.count(), WrongTry.objects.count()) == (1, 1)
        clock.shift(timedelta(minutes=1))
        tasks.purge_old()
        assert (SignInCode.objects.count(), WrongTry.objects.count()) == (0, 1)
        clock.shift(timedelta(hours=23))
        tasks.purge_old()
        assert WrongTry.objects.count() == 0


def test_where_somebody_signed_in_is_forgotten_after_ninety_days(sign_in: SignIn) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        sign_in()
        tasks.send_codes()
        clock.shift(timedelta(days=90) - timedelta(seconds=1))
        tasks.purge_old()
        assert SignInCode.objects.count() == 1
        clock.shift(1)
        tasks.purge_old()
        assert SignInCode.objects.count() == 0


def test_sessions_go_a_week_after_their_end(sign_in: SignIn) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        sign_in()
        clock.shift(timedelta(days=37) - timedelta(seconds=1))
        tasks.purge_old()
        assert Session.objects.count() == 1
        clock.shift(1)
        tasks.purge_old()
        assert Session.objects.count() == 0


def test_what_programs_asked_for_goes_when_it_counts_no_more() -> None:
    owner = User.objects.create_user("a@b.com")
    OAuthClient.objects.create(id="https://a.example/c", name="a", redirect_uris=[], grant_types=[], fetched_at=NOON)
    unanswered = OAuthGrant(digest="unanswered", client_id="agentpods-cli", client_name="agentpods", expires_at=NOON)
    unanswered.save()
    answered = OAuthGrant(digest="answered", client_id="agentpods-cli", client_name="agentpods", expires_at=NOON)
    answered.user, answered.answered_at = owner, NOON
    answered.save()
    for later, left in ((14, 2), (15, 1), (24 * 60 - 1, 1), (24 * 60, 0)):
        purge.run(now=NOON + timedelta(minutes=later))
        assert OAuthGrant.objects.count() == left, later
    purge.run(now=NOON + timedelta(days=7) - timedelta(seconds=1))
    assert OAuthClient.objects.exists()
    purge.run(now=NOON + timedelta(days=7))
    assert not OAuthClient.objects.exists()


def test_stored_replies_go_after_a_day() -> None:
    row = IdempotentReply(user=User.objects.create_user("a@b.com"), method="POST", path="/x", key="k", fingerprint="")
    row.created_at = row.reserved_at = NOON
    row.save()
    purge.run(now=NOON + timedelta(hours=23, minutes=59))
    assert IdempotentReply.objects.exists()
    purge.run(now=NOON + timedelta(hours=24))
    assert not IdempotentReply.objects.exists()


def test_used_pages_go_when_they_are_too_old_to_be_sent() -> None:
    UsedPage.objects.create(pk="page:row", forget_at=NOON)
    purge.run(now=NOON - timedelta(seconds=1))
    assert UsedPage.objects.exists()
    purge.run(now=NOON)
    assert not UsedPage.objects.exists()


def test_the_admins_old_sessions_go_too() -> None:
    store = SessionStore()
    store.set_expiry(60)
    store.save()
    purge.run(now=datetime.now(UTC) + timedelta(minutes=2))
    assert not AdminSession.objects.exists()


def test_users_and_revoked_keys_stay(ann: APIClient) -> None:
    key, _ = new_key(ann)
    ann.delete(f"/keys/{key['id']}")
    purge.run(now=datetime.now(UTC) + timedelta(days=3650))
    assert ApiKey.objects.count() == 1
    assert User.objects.count() == 1


def test_much_goes_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "BATCH", 2)
    user = User.objects.create_user("a@b.com")
    Session.objects.bulk_create(
        Session(user=user, digest=str(number), expires_at=NOON - timedelta(days=8)) for number in range(5)
    )
    assert purge.run(now=NOON) == 5
    assert not Session.objects.exists()
