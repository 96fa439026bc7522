"""The ids of what people write: readable, and nobody else's for good."""

from __future__ import annotations

import re
import secrets

from django.utils.text import slugify

from catalog.models.rows import slug_id

MAX_NAME_CHARACTERS = 40
MAX_CHARACTERS = 80
RANDOM_CHARACTERS = 6
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"

_SEPARATORS = re.compile(r"[-_]+")
_SLUG = re.compile(slug_id.regex)


def mint(name: str, *, otherwise: str) -> str:
    """The name in ASCII and six random characters; `otherwise` stands for a name that has no such letter."""
    label = _SEPARATORS.sub("-", slugify(name))[:MAX_NAME_CHARACTERS].strip("-") or otherwise
    return f"{label}-{''.join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS))}"


def is_slug(text: str) -> bool:
    """Whether it can be an id at all; what cannot is asked of no database."""
    return len(text) <= MAX_CHARACTERS and _SLUG.match(text) is not None
