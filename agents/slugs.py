"""The stable label in every hostname of an agent (docs/spec.md: Agent `a2aSlug`)."""

from __future__ import annotations

import secrets

from django.utils.text import slugify

MAX_NAME_CHARACTERS = 40
RANDOM_CHARACTERS = 6
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
RESERVED = {"admin", "api", "app", "console", "docs", "mail", "router", "static", "status", "www"}


def mint(name: str) -> str:
    """The name in ASCII and six random characters (30 bits). The unique column refuses a label that exists."""
    label = slugify(name).replace("_", "-")[:MAX_NAME_CHARACTERS].strip("-")
    if not label or label in RESERVED:
        label = f"agent-{label}".strip("-")
    return f"{label}-{''.join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS))}"
