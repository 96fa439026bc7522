"""The warnings of `check --deploy` about the settings of Stripe."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as CheckWarning
from django.core.exceptions import ImproperlyConfigured

from config.operator_settings import operator_settings
from config.operator_settings.registry import OperatorSettings
from config.operator_settings.values import values


def _is_of_test_mode(key: str) -> bool:
    return key.startswith(("sk_test_", "rk_test_"))


def _refuse_test_mode(key: str) -> None:
    """Operators of a production system cannot set such a key. Raises ImproperlyConfigured."""
    if _is_of_test_mode(key) and not settings.DEVELOPMENT:
        raise ImproperlyConfigured("STRIPE_SECRET_KEY: is of the test mode; with it, test cards pay for agents")


OperatorSettings.STRIPE_SECRET_KEY.checks.append(_refuse_test_mode)


@register(Tags.security, deploy=True)
def stripe_is_whole(**_: Any) -> list[CheckMessage]:
    """Check that Stripe has all its settings and a key that is not of the test mode.

    With half of the settings Stripe sells nothing. With a test key nobody is charged.
    """
    with values.unread():
        key, secrets = operator_settings.STRIPE_SECRET_KEY, operator_settings.STRIPE_WEBHOOK_SECRETS
    found: list[CheckMessage] = []
    if bool(key) != bool(secrets):
        missing = "STRIPE_WEBHOOK_SECRETS" if key else "STRIPE_SECRET_KEY"
        found.append(CheckWarning(f"{missing} is not set: Stripe sells nothing", id="agentpods.W003"))
    if _is_of_test_mode(key):
        hint = "Test cards pay for agents."
        found.append(CheckWarning("STRIPE_SECRET_KEY is of the test mode", hint=hint, id="agentpods.W004"))
    if key and not settings.STRIPE_URL.startswith("https://"):
        hint = "The key would travel in the clear."
        found.append(CheckWarning("STRIPE_URL is not https://", hint=hint, id="agentpods.W005"))
    return found
