"""Authors at work: their client, and a persona that may be published as it is."""

from __future__ import annotations

import json
from typing import Any

from django.utils import timezone
from rest_framework.test import APIClient

from accounts import sessions
from accounts.models import User

FULL: dict[str, Any] = {
    "icon": "🦉",
    "name": "Night Owl",
    "tagline": "Company after midnight",
    "forWho": "People who work at night",
    "does": ["Keeps you awake", "Plans the night"],
    "doesExamples": {"Keeps you awake": "Ask me something hard.", "Plans the night": "What first?"},
    "skills": ["small talk"],
    "channels": ["web", "telegram"],
    "category": "social",
    "tags": ["night", "work"],
    "tier": "small",
    "risk": "high",
    "disclaimer": "No doctor.",
    "demo": [{"role": "user", "text": "Hello"}, {"role": "agent", "text": "Good night!"}],
    "ru": {
        "name": "Ночная сова",
        "tagline": "Компания после полуночи",
        "forWho": "Тем, кто работает ночью",
        "does": ["Не даёт уснуть", "Планирует ночь"],
        "disclaimer": "Не врач.",
    },
    "soul": "You are Night Owl.\n\nStay awake.",
    "recommendedModels": ["openai:gpt-6-luna"],
}
SMALL: dict[str, Any] = {name: FULL[name] for name in ("name", "tagline", "forWho", "does", "category", "tier", "soul")}


class Writer:
    """A person with a session who writes personas; every call says what it must be answered with."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.api = APIClient(raise_request_exception=False)
        token = sessions.start(user, attribution=None, now=timezone.now())[1]
        self.api.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")

    def call(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        answer = self.api.generic(method, path, *_sent(body))
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    def get(self, path: str, *, status: int = 200) -> Any:
        return self.call("GET", path, status=status)

    def post(self, path: str, body: Any = None, *, status: int = 200) -> Any:
        return self.call("POST", path, body, status=status)

    def patch(self, path: str, body: Any, *, status: int = 200) -> Any:
        return self.call("PATCH", path, body, status=status)

    def delete(self, path: str, *, status: int = 204) -> Any:
        return self.call("DELETE", path, status=status)

    def draft(self, **texts: Any) -> Any:
        """A complete draft but for what is said otherwise; None leaves a field out."""
        body = {name: value for name, value in (FULL | texts).items() if value is not None}
        return self.post("/personas", body)["persona"]

    def published(self, **texts: Any) -> Any:
        return self.post(f"/personas/{self.draft(**texts)['id']}/publish")["persona"]

    def refusal(self, method: str, path: str, body: Any = None, *, status: int = 400) -> str:
        """The message of what is refused."""
        refused = self.call(method, path, body, status=status)
        assert set(refused) == {"error", "message"}
        return str(refused["message"])


def _sent(body: Any) -> tuple[Any, ...]:
    return () if body is None else (json.dumps(body), "application/json")
