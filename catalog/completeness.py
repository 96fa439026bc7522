"""What a persona needs before visitors see it. A draft needs only a name."""

from __future__ import annotations

from catalog.models import Persona, PersonaL10n
from catalog.vocabulary import Category, Risk, TierId
from config.errors import BadRequest

# Column and JSON name, in the order of docs/spec.md: Persona (public catalog entry).
REQUIRED = (
    ("name", "name"),
    ("tagline", "tagline"),
    ("for_who", "forWho"),
    ("does", "does"),
    ("category", "category"),
    ("tier", "tier"),
    ("soul", "soul"),
)
ALLOWED = {"category": Category.values, "tier": TierId.values}


class Unfinished(BadRequest):
    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(f"{field}: {problem}; PATCH /personas/{{id}} sets it")


def check(persona: Persona) -> None:
    """Check that the persona may be public. Raises Unfinished, which names the first field that is missing or wrong."""
    for column, field in REQUIRED:
        if not getattr(persona, column):
            allowed = f", one of {', '.join(ALLOWED[column])}" if column in ALLOWED else ""
            raise Unfinished(field, f"is needed before a persona is published{allowed}")
    _check_examples(persona)
    _check_disclaimer(persona.disclaimer, persona)
    for lang, text in persona.texts.items():
        _check_disclaimer(text.disclaimer, persona, text)
        if len(text.does) != len(persona.does):
            raise Unfinished(f"{lang}.does", f"has {len(text.does)} labels where `does` has {len(persona.does)}")


def _check_examples(persona: Persona) -> None:
    differing = set(persona.does_examples or persona.does) ^ set(persona.does)
    if differing:
        labels = ", ".join(sorted(differing))
        raise Unfinished("doesExamples", f"must have exactly the labels of `does`; differs in: {labels}")


def _check_disclaimer(disclaimer: str | None, persona: Persona, text: PersonaL10n | None = None) -> None:
    if persona.risk == Risk.HIGH and not disclaimer:
        raise Unfinished(f"{text.lang}.disclaimer" if text else "disclaimer", "is needed when the risk is high")
