"""An agent with the channel WhatsApp, and Meta on the other side."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from django.http import HttpResponse
from rest_framework.test import APIClient

from agents.configuring import llm_key
from agents.models import Agent

VERIFY_TOKEN, APP_SECRET, PHONE = "verify-me-4711", "app-secret-4711-0815", "1066"
SECRETS = {
    "whatsappPhoneNumberId": PHONE,
    "whatsappAccessToken": "EAAG-access-token-4711",
    "whatsappVerifyToken": VERIFY_TOKEN,
    "whatsappAppSecret": APP_SECRET,
}


@pytest.fixture
def agent(running: Agent) -> Agent:
    Agent.objects.filter(pk=running.pk).update(engine="hermes", channels=["web", "whatsapp"])
    Agent.objects.filter(pk=running.pk).update(channel_secrets=SECRETS)
    running.refresh_from_db()
    return llm_key.install(running, provider="openai", key="sk-real-0123456789abcdefghijkl")


def text(name: str, words: str = "hello", *, sender: str = "4915100000001") -> dict[str, Any]:
    """A message in Meta's format."""
    return {"id": name, "from": sender, "timestamp": "1764150000", "type": "text", "text": {"body": words}}


def call_of(*messages: dict[str, Any], phone: str = PHONE, **more: Any) -> dict[str, Any]:
    value = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "15550000000", "phone_number_id": phone},
        "contacts": [{"profile": {"name": "Ann"}, "wa_id": "4915100000001"}],
        "messages": list(messages),
        **more,
    }
    entry = {"id": "102290129340398", "changes": [{"field": "messages", "value": value}]}
    return {"object": "whatsapp_business_account", "entry": [entry]}


def bring(agent: Agent, call: Any, *, secret: str = APP_SECRET, signature: str | None = None) -> HttpResponse:
    """Call the webhook as Meta does: without a credential, with a signature of the body."""
    body = call if isinstance(call, bytes) else json.dumps(call).encode()
    shown = signature or "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    answer: HttpResponse = APIClient().generic(
        "POST",
        f"/agents/{agent.id}/channels/whatsapp",
        body,  # type: ignore[arg-type]  # bytes are accepted too
        content_type="application/json",
        headers={"X-Hub-Signature-256": shown},
    )
    return answer
