from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from agents.models import Agent
from tests.webhooks.conftest import delivery_of, emit, hook_of
from webhooks import hooks
from webhooks.models import Hook, State

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://receiver.example/hook"


def test_a_secret_is_whsec_and_32_random_bytes(agent: Agent) -> None:
    _, secret = hooks.install(agent, url=URL, now=NOON)
    prefix, _, rest = secret.partition("_")
    assert prefix == "whsec"
    assert len(base64.urlsafe_b64decode(rest + "=")) == 32


def test_a_secret_is_encrypted_at_rest_and_absent_from_repr(agent: Agent) -> None:
    hook, secret = hooks.install(agent, url=URL, now=NOON)
    with connection.cursor() as cursor:
        cursor.execute("SELECT h::text FROM webhooks_hook h")
        assert secret not in cursor.fetchone()[0]
    assert secret not in repr(hook) + str(hook)
    assert hook_of(agent).secret == secret


def test_setting_it_again_mints_a_new_secret_and_keeps_the_one_before(agent: Agent) -> None:
    _, first = hooks.install(agent, url=URL, now=NOON)
    _, second = hooks.install(agent, url=URL, now=NOON + timedelta(hours=1))
    hook = hook_of(agent)
    assert first != second
    assert (hook.secret, hook.previous_secret) == (second, first)


def test_a_third_secret_drops_the_first_at_once(agent: Agent) -> None:
    secrets = [hooks.install(agent, url=URL, now=NOON)[1] for _ in range(3)]
    hook = hook_of(agent)
    assert [hook.previous_secret, hook.secret] == secrets[1:]


def test_the_secret_of_before_is_erased_after_a_day(agent: Agent) -> None:
    hooks.install(agent, url=URL, now=NOON)
    hooks.install(agent, url=URL, now=NOON)
    assert hooks.forget_old_secrets(now=NOON + timedelta(hours=23)) == 0
    assert hooks.forget_old_secrets(now=NOON + timedelta(hours=24)) == 1
    assert hook_of(agent).previous_secret is None


def test_the_latest_outcome_survives_a_rotation(agent: Agent) -> None:
    hooks.install(agent, url=URL, now=NOON)
    Hook.objects.update(last_status="204", last_event="test")
    hooks.install(agent, url=URL, now=NOON)
    assert hook_of(agent).last_status == "204"


@pytest.mark.parametrize("other", ["https://other.example/", f"{URL}x", URL.replace("https", "http")])
def test_of_a_new_address_nothing_is_known(agent: Agent, other: str) -> None:
    hooks.install(agent, url=URL, now=NOON)
    Hook.objects.update(last_status="204", last_at=NOON, last_event="test")
    hook, _ = hooks.install(agent, url=other, now=NOON)
    for row in (hook, hook_of(agent)):
        assert (row.last_status, row.last_at, row.last_event) == (None, None, None)


def test_a_new_receiver_starts_outside_of_the_slow_lane(agent: Agent) -> None:
    hooks.install(agent, url=URL, now=NOON)
    Hook.objects.update(slow=True)
    hooks.install(agent, url=URL, now=NOON)
    assert hook_of(agent).slow
    hooks.install(agent, url="https://other.example/", now=NOON)
    assert not hook_of(agent).slow


def test_removal_drops_the_secrets_and_cancels_what_is_pending(agent: Agent) -> None:
    hooks.install(agent, url=URL, now=NOON)
    event = emit(agent)
    hooks.remove(agent)
    assert not Hook.objects.exists()
    delivery = delivery_of(event)
    assert (delivery.state, delivery.error) == (State.CANCELED, "canceled")
    assert delivery.finished_at is not None


def test_removing_what_is_gone_succeeds(agent: Agent) -> None:
    hooks.remove(agent)
    hooks.remove(agent)


def test_a_hook_set_after_a_removal_knows_nothing_of_the_one_before(agent: Agent) -> None:
    hooks.install(agent, url=URL, now=NOON)
    hooks.remove(agent)
    hooks.install(agent, url=URL, now=NOON)
    hook = hook_of(agent)
    assert (hook.previous_secret, hook.rotated_at, hook.last_status) == (None, None, None)
