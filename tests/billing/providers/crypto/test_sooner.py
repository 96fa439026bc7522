"""Somebody who watches a pending order need not wait for the next periodic look at the chain."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks
from rest_framework.test import APIClient

from agents.models import Agent
from billing.models import CryptoOrder
from billing.providers.crypto import settling, sooner
from config import redis
from tests.doubles.chain import Chain

pytestmark = pytest.mark.django_db


def asked_for(capture: DjangoCaptureOnCommitCallbacks, client: APIClient, path: str) -> list[str]:
    """The tasks that are asked for while this order is read."""
    with capture() as callbacks:
        assert client.get(path).status_code == 200
    return [one.args[0] for one in callbacks]  # type: ignore[attr-defined]  # they are partial functions


def test_reading_a_pending_order_has_the_chain_read_once_in_a_while_and_a_closed_one_never(
    client: APIClient,
    coins: Chain,
    running: Agent,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    body = {"agentId": running.pk, "asset": "usdc", "period": "monthly"}
    order = client.post("/crypto/orders", body, format="json").json()["order"]["id"]
    path = f"/crypto/orders/{order}"
    assert asked_for(django_capture_on_commit_callbacks, client, path) == ["billing.scan_chain"]
    assert asked_for(django_capture_on_commit_callbacks, client, path) == []
    row = CryptoOrder.objects.get(pk=order)
    settling.pay(order, received=int(row.amount), block=1, now=timezone.now())
    assert asked_for(django_capture_on_commit_callbacks, client, path) == []


def test_one_account_that_watches_on_costs_the_operators_nodes_no_more(
    client: APIClient,
    coins: Chain,
    running: Agent,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    monkeypatch.setattr(sooner, "OF_ONE_ACCOUNT", 2)
    body = {"agentId": running.pk, "asset": "usdc", "period": "monthly"}
    order = client.post("/crypto/orders", body, format="json").json()["order"]["id"]
    found = []
    for _ in range(3):
        redis.client().delete("billing:scan-asked")  # three seconds later
        found.append(asked_for(django_capture_on_commit_callbacks, client, f"/crypto/orders/{order}"))
    assert found == [["billing.scan_chain"], ["billing.scan_chain"], []]
