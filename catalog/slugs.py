"""The ids of personas and articles: readable, and never given twice."""

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
    """The name in ASCII letters and six random characters. `otherwise` replaces a name without ASCII letters."""
    label = _SEPARATORS.sub("-", slugify(name))[:MAX_NAME_CHARACTERS].strip("-") or otherwise
    return f"{label}-{''.join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS))}"


def is_slug(text: str) -> bool:
    """Whether the text can be an id. Other texts are never looked up in the database."""
    return len(text) <= MAX_CHARACTERS and _SLUG.match(text) is not None
