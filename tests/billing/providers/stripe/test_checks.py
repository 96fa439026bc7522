"""The warnings of `check --deploy` about the settings of Stripe."""

from __future__ import annotations

from typing import Any

import pytest

from billing.providers.stripe import checks


@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        ({}, []),
        ({"STRIPE_SECRET_KEY": "sk_live_1", "STRIPE_WEBHOOK_SECRETS": ["whsec_1"]}, []),
        ({"STRIPE_SECRET_KEY": "sk_live_1"}, ["agentpods.W003"]),
        ({"STRIPE_WEBHOOK_SECRETS": ["whsec_1"]}, ["agentpods.W003"]),
        ({"STRIPE_SECRET_KEY": "rk_test_1", "STRIPE_WEBHOOK_SECRETS": ["whsec_1"]}, ["agentpods.W004"]),
        (
            {"STRIPE_SECRET_KEY": "sk_live_1", "STRIPE_WEBHOOK_SECRETS": ["w"], "STRIPE_URL": "http://10.0.0.1"},
            ["agentpods.W005"],
        ),
    ],
)
def test_half_a_stripe_and_one_in_test_mode_are_warned_of(
    settings: Any, changes: dict[str, Any], ids: list[str]
) -> None:
    settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRETS = "", []
    for name, value in changes.items():
        setattr(settings, name, value)
    assert [found.id for found in checks.stripe_is_whole()] == ids
