"""Addresses of the pages that our mails and refusals link to. pages/account/urls.py serves them."""

from __future__ import annotations

from django.conf import settings


def account() -> str:
    return f"{settings.BASE_URL}/account"


def agent(agent_id: str) -> str:
    return f"{account()}/agents/{agent_id}"


def channels(agent_id: str) -> str:
    return f"{agent(agent_id)}/channels"


def domain(agent_id: str) -> str:
    return f"{agent(agent_id)}/domain"


def renew(agent_id: str) -> str:
    return f"{settings.BASE_URL}/renew/{agent_id}"


def payment(payment_id: str) -> str:
    return f"{account()}/payments/{payment_id}"


def invoice(invoice_id: str) -> str:
    return f"{account()}/invoices/{invoice_id}"


def personas() -> str:
    return f"{account()}/personas"


def persona(persona_id: str) -> str:
    return f"{personas()}/{persona_id}"


def article(persona_id: str, slug: str) -> str:
    return f"{persona(persona_id)}/articles/{slug}"


def data() -> str:
    return f"{account()}/data"


def deletion() -> str:
    return f"{account()}/delete"


def limits() -> str:
    return f"{account()}/limits"


def mails() -> str:
    return f"{account()}/mails"
