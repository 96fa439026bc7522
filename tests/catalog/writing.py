"""Authors: their client, and a persona that is complete enough to publish."""

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
    """A person with a session who writes personas. Each call checks the status of the answer."""

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
        """Create a complete draft with these changes; None leaves a field out."""
        body = {name: value for name, value in (FULL | texts).items() if value is not None}
        return self.post("/personas", body)["persona"]

    def published(self, **texts: Any) -> Any:
        return self.post(f"/personas/{self.draft(**texts)['id']}/publish")["persona"]

    def refusal(self, method: str, path: str, body: Any = None, *, status: int = 400) -> str:
        """Send a request that is refused, and return the message."""
        refused = self.call(method, path, body, status=status)
        assert set(refused) == {"error", "message"}
        return str(refused["message"])


def _sent(body: Any) -> tuple[Any, ...]:
    return () if body is None else (json.dumps(body), "application/json")


def _texts(sign: str) -> dict[str, Any]:
    does = [f"{number:02}".ljust(200, sign) for number in range(12)]
    return {
        "name": sign * 80,
        "tagline": sign * 200,
        "forWho": sign * 1_000,
        "does": does,
        "doesExamples": dict.fromkeys(does, sign * 300),
        "disclaimer": sign * 1_000,
        "demo": [{"role": "agent", "text": sign * 600}] * 16,
    }


LARGEST: dict[str, Any] = {
    **_texts("e"),
    **{lang: _texts("ы") for lang in ("ru", "es", "pt", "tr", "ind")},
    "icon": "🦉" * 16,
    "skills": [f"{number:02}".ljust(200, "s") for number in range(24)],
    "channels": ["web", "telegram", "discord", "whatsapp", "email"],
    "category": "fun",
    "tags": [f"{number:02}".ljust(40, "t") for number in range(16)],
    "tier": "large",
    "risk": "high",
    "soul": "ы" * 12_000,
    "recommendedModels": ["openai:gpt-6-luna"],
}
_RU = FULL["ru"]
# Wrong values, and how the message begins.
WRONG: list[tuple[dict[str, Any], str]] = [
    *[({name: 5}, f"{name}: must be a string") for name in ("icon", "name", "tagline", "forWho", "soul", "disclaimer")],
    *[({name: None}, f"{name}: ") for name in ("icon", "name", "tagline", "forWho", "soul", "does", "tags", "tier")],
    *[({name: "web"}, f"{name}: must be an array") for name in ("does", "skills", "channels", "tags", "demo")],
    *[({name: [5]}, f"{name}[0]: must be a string") for name in ("does", "skills", "channels", "tags")],
    *[({name: ["web", "web"]}, f"{name}: 'web' is listed twice") for name in ("does", "skills", "channels", "tags")],
    *[({name: {}}, f"{name}: must be a string") for name in ("category", "tier", "risk", "soul")],
    *[({name: "other"}, f"{name}: 'other' is not one of") for name in ("category", "tier", "risk")],
    *[({name: "a" * 2_000}, f"{name}: ") for name in ("icon", "name", "tagline", "forWho", "disclaimer")],
    *[({name: "a\u0007"}, f"{name}: may not contain the character U+0007") for name in ("icon", "name", "soul")],
    *[({name: "a\u202eb"}, f"{name}: may not contain the character U+202E") for name in ("tagline", "forWho", "soul")],
    *[({name: "a\nb"}, f"{name}: may not contain the character U+000A") for name in ("icon", "name", "tagline")],
    *[({name: ""}, f"{name}: ") for name in ("icon", "name")],
    *[({name: " "}, f"{name}: ") for name in ("icon", "name", "forWho", "soul")],
    ({"soul": "a" * 12_001}, "soul: "),
    ({"does": ["a"] * 13}, "does: has 13 elements"),
    ({"does": [""]}, "does[0]: "),
    ({"does": ["a" * 201]}, "does[0]: "),
    ({"skills": list("abcdefghijklmnopqrstuvwxyz")}, "skills: has 26 elements"),
    ({"tags": ["a" * 41]}, "tags[0]: "),
    ({"channels": ["sms"]}, "channels[0]: 'sms' is not one of"),
    ({"doesExamples": []}, "doesExamples: must be an object"),
    ({"doesExamples": {"a": 5}}, "doesExamples.a: must be a string"),
    ({"doesExamples": {"a": ""}}, "doesExamples.a: "),
    ({"doesExamples": {"": "a"}}, "doesExamples: "),
    ({"doesExamples": {str(number): "a" for number in range(13)}}, "doesExamples: has 13 entries"),
    ({"demo": [{"role": "user"}]}, "demo[0].text: "),
    ({"demo": [{"role": "system", "text": "a"}]}, "demo[0].role: 'system' is not one of"),
    ({"demo": ["a"]}, "demo[0]: must be an object"),
    ({"demo": [{"role": "user", "text": "a"}] * 17}, "demo: has 17 elements"),
    ({"recommendedModels": ["openai:gpt-0"]}, "recommendedModels: 'openai:gpt-0' is not in the catalog"),
    ({"ru": []}, "ru: must be an object"),
    ({"ru": {}}, "ru.name: "),
    ({"ru": _RU | {"does": "a"}}, "ru.does: must be an array"),
    ({"ru": _RU | {"name": " "}}, "ru.name: "),
    ({"ru": _RU | {"doesExamples": {"a": "b"}}}, "ru.doesExamples: must have exactly the labels"),
    ({"ru": _RU | {"demo": [{"role": "user", "text": 5}]}}, "ru.demo[0].text: must be a string"),
]
