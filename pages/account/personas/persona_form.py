"""The form in which a person writes a persona, and the refusals of the rules in plain words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from catalog import articles, authoring, authors
from catalog.completeness import Unfinished
from catalog.models import Persona
from config.errors import ServiceError

Typed = Callable[[str], str]

LABELS: dict[str, Promise] = {
    "name": _("Name"),
    "icon": _("Emoji"),
    "tagline": _("In one line"),
    "forWho": _("Who it is for"),
    "does": _("What it does"),
    "doesExamples": _("What it does"),
    "category": _("Category"),
    "tier": _("Smallest plan"),
    "channels": _("Channels"),
    "risk": _("Risk"),
    "disclaimer": _("Please note"),
    "soul": _("Instructions"),
    "skills": _("Skills"),
    "tags": _("Tags"),
    "title": _("Title"),
    "summary": _("In one line"),
    "lang": _("Language"),
    "body": _("Text"),
    "slug": _("Address"),
}
TEXTS = {"icon": "icon", "name": "name", "tagline": "tagline", "forWho": "for_who", "soul": "soul"}
CHOICES = {"category": "category", "tier": "tier", "risk": "risk"}
BETWEEN = " | "  # between an ability of a persona and an example question


def shown(persona: Persona) -> dict[str, Any]:
    examples = persona.does_examples or {}
    does = [f"{label}{BETWEEN}{examples[label]}" if label in examples else label for label in persona.does]
    return {
        **{field: getattr(persona, column) for field, column in {**TEXTS, **CHOICES}.items()},
        "disclaimer": persona.disclaimer or "",
        "does": "\n".join(does),
        "skills": "\n".join(persona.skills),
        "tags": ", ".join(persona.tags),
        "channels": list(persona.channels),
    }


def typed(given: Typed, channels: list[str]) -> dict[str, Any]:
    """The typed fields, to be shown again."""
    plain = (*TEXTS, *CHOICES, "disclaimer", "does", "skills", "tags")
    return {**{name: given(name).replace("\r\n", "\n").strip() for name in plain}, "channels": channels}


def body(form: dict[str, Any]) -> dict[str, Any]:
    """The form as the body of the API's call. A choice that was not made stays as it is."""
    does = [line.partition(BETWEEN.strip()) for line in _lines(form["does"])]
    examples = {label.strip(): question.strip() for label, _bar, question in does if question.strip()}
    chosen = {name: form[name] for name in CHOICES if form[name]}
    icon = {"icon": form["icon"]} if form["icon"] else {}
    return {
        **{name: form[name] for name in TEXTS if name != "icon"},
        **icon,
        **chosen,
        "disclaimer": form["disclaimer"] or None,
        "does": [label.strip() for label, _bar, _question in does],
        "doesExamples": examples or None,
        "skills": _lines(form["skills"]),
        "tags": [tag.strip() for tag in form["tags"].split(",") if tag.strip()],
        "channels": form["channels"],
    }


def malformed(errors: Any) -> str:
    """The message for the first field that is invalid."""
    field = next(iter(errors), "")
    text = gettext("%(field)s: this is missing, too long, or contains something that cannot be shown.")
    return text % {"field": LABELS.get(field, field)}


def refused(refusal: ServiceError) -> str:
    """The reason in the person's language, or the API's English message if there is no translation."""
    match refusal:
        case Unfinished():
            text = gettext("Before others can see it, this has to be filled in: %(field)s.")
            return text % {"field": LABELS.get(refusal.field.rpartition(".")[2], refusal.field)}
        case authors.Banned():
            return gettext("You can no longer write personas. We sent you a mail about it.")
        case authoring.TooManyPersonas() | articles.TooManyArticles():
            return gettext("You have reached the limit. Delete one first.")
        case authoring.InUse():
            return gettext("Agents use it, so it cannot be deleted. Remove it from the catalog instead.")
        case articles.SlugTaken():
            return gettext("This persona has an article with this address already.")
        case articles.UnshowableBody():
            return gettext(
                "This text is too long or too complicated to be shown. Shorten it or make two articles of it."
            )
        case authors.ReservedName() | authors.MixedScripts():
            return gettext("This name could be taken for somebody else's. Choose another one.")
    return refusal.message


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
