"""Reads models.dev's list of models for the providers of our catalog. Each entry is judged on its own.

Other people write this list. A malformed entry is left out completely and reported, unknown fields are ignored, and
nothing in the list can stop the rest from being read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from catalog.models.offers import PRICE_PLACES
from catalog.models.rows import LABEL_LENGTH
from catalog.vocabulary import ProviderId

# Our provider id: the list's id. `google` and `gemini` are one vendor; the list has no entry for Nous.
NAMES_THERE: dict[str, str | None] = {
    ProviderId.OPENAI: "openai",
    ProviderId.ANTHROPIC: "anthropic",
    ProviderId.OPENROUTER: "openrouter",
    ProviderId.GOOGLE: "google",
    ProviderId.GEMINI: "google",
    ProviderId.GROQ: "groq",
    ProviderId.MISTRAL: "mistral",
    ProviderId.DEEPSEEK: "deepseek",
    ProviderId.XAI: "xai",
    ProviderId.NOUS: None,
}
DEAREST_USD = Decimal(10_000)  # per 1M tokens; a higher price has the wrong unit
LONGEST_NUMBER = 40
_MODEL_NAME = re.compile(r"[\x21-\x7e]+")
_RELEASED = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?", re.ASCII)


class Skipped(StrEnum):
    """Why we do not offer a model of the list."""

    DEPRECATED = "deprecated"
    ALPHA = "alpha"
    NO_TOOL_CALLS = "no tool calls"
    NO_PRICES = "no prices"
    NOT_TEXT = "not text alone"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A model that agents can use. Without a release date it counts as the oldest."""

    name: str
    label: str
    input_usd: Decimal
    output_usd: Decimal
    released: date


@dataclass(slots=True)
class ListedModels:
    """The models, by our provider id and the model's own name."""

    models: dict[str, dict[str, ListedModel]] = field(default_factory=dict)
    skipped: dict[str, dict[str, Skipped]] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)  # providers for which the list has nothing usable
    problems: list[str] = field(default_factory=list)


class Malformed(ValueError):
    """The entry cannot be read; the text says which field."""


class JsonObject(dict[str, Any]):
    """A JSON object that remembers which of its keys were repeated."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs) if len(self) < len(pairs) else Counter[str]()
        self.repeated = {key for key, count in counts.items() if count > 1}


def parse(document: Any) -> ListedModels:
    """Read models.dev's document. The document may have any form."""
    listing = ListedModels()
    providers = document if isinstance(document, Mapping) else {}
    for ours, theirs in NAMES_THERE.items():
        entry = providers.get(theirs) if theirs else None
        models = entry.get("models") if isinstance(entry, Mapping) else None
        if isinstance(models, Mapping):
            _read_provider(listing, ours, models)
        if not listing.models.get(ours):
            listing.models.pop(ours, None)
            listing.absent.append(ours)
    return listing


def _read_provider(listing: ListedModels, provider: str, models: Mapping[str, Any]) -> None:
    usable = listing.models[provider] = {}
    skipped = listing.skipped[provider] = {}
    repeated = getattr(models, "repeated", ())
    for name, entry in models.items():
        try:
            judged = _judged(provider, name, entry, repeated=name in repeated)
        except Malformed as error:
            listing.problems.append(f"{provider}:{_short(name)}: {error}")
            judged = Skipped.MALFORMED
        if isinstance(judged, ListedModel):
            usable[name] = judged
        else:
            skipped[name] = judged


def _judged(provider: str, name: Any, entry: Any, *, repeated: bool) -> ListedModel | Skipped:
    if repeated:
        raise Malformed("is listed twice")
    if not isinstance(entry, Mapping):
        raise Malformed("must be an object")
    _check_name(provider, name, entry)
    if unusable := _unusable(entry):
        return unusable
    cost = entry.get("cost")
    if not isinstance(cost, Mapping):
        raise Malformed(f"cost: {_short(cost)} is not an object")
    if cost.get("input") is None or cost.get("output") is None:
        return Skipped.NO_PRICES
    return ListedModel(
        name=name,
        label=_label(entry.get("name"), name),
        input_usd=_price(cost["input"], "input"),
        output_usd=_price(cost["output"], "output"),
        released=_released(entry.get("release_date")),
    )


def _check_name(provider: str, name: Any, entry: Mapping[str, Any]) -> None:
    if not isinstance(name, str) or not _MODEL_NAME.fullmatch(name):
        raise Malformed("the id must be visible ASCII characters")
    if len(f"{provider}:{name}") > LABEL_LENGTH:
        raise Malformed(f"the id is longer than {LABEL_LENGTH} characters")
    if entry.get("id", name) != name:
        raise Malformed(f"id: {_short(entry['id'])} is another one")


def _unusable(entry: Mapping[str, Any]) -> Skipped | None:
    """Why no agent could use the model; None if agents can. Raises Malformed."""
    status = entry.get("status")
    if not isinstance(status, str | None):
        raise Malformed(f"status: {_short(status)} is not a text")
    if status in {Skipped.DEPRECATED, Skipped.ALPHA}:
        return Skipped(status)
    if not _calls_tools(entry.get("tool_call")):
        return Skipped.NO_TOOL_CALLS
    if not _is_for_text(entry.get("modalities")):
        return Skipped.NOT_TEXT
    return Skipped.NO_PRICES if entry.get("cost") is None else None


def _calls_tools(value: Any) -> bool:
    """Whether the model can call tools. Some entries have an object `{supported: true, …}` instead of a boolean."""
    return value is True or (isinstance(value, Mapping) and value.get("supported") is True)


def _is_for_text(modalities: Any) -> bool:
    """Whether the model reads text and writes only text. True if the entry does not say."""
    if not isinstance(modalities, Mapping):
        return True
    reads, writes = modalities.get("input", ["text"]), modalities.get("output", ["text"])
    return isinstance(reads, list) and "text" in reads and writes == ["text"]


def _label(given: Any, name: str) -> str:
    label = name if given is None else given
    if not isinstance(label, str) or not label.strip() or not label.isprintable():
        raise Malformed(f"name: {_short(label)} is not a line of text")
    if len(label.strip()) > LABEL_LENGTH:
        raise Malformed(f"name: is longer than {LABEL_LENGTH} characters")
    return label.strip()


def _price(value: Any, side: str) -> Decimal:
    """The price as a Decimal with four places, as a row stores it.

    Never converted through a float. Raises Malformed.
    """
    usd = _number(value)
    if usd is None or not usd.is_finite() or not 0 <= usd <= DEAREST_USD:
        raise Malformed(f"cost.{side}: {_short(value)} is not a price of 0 to {DEAREST_USD} USD per 1M tokens")
    return abs(usd.quantize(Decimal(1).scaleb(-PRICE_PLACES)))


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    if isinstance(value, str) and len(value) > LONGEST_NUMBER:
        return None
    try:
        return Decimal(value) if not isinstance(value, float) else Decimal(repr(value))
    except InvalidOperation:
        return None


def _released(value: Any) -> date:
    if value is None:
        return date.min
    found = _RELEASED.fullmatch(value) if isinstance(value, str) else None
    try:
        if found:
            return date(int(found[1]), int(found[2]), int(found[3] or 1))
    except ValueError:
        pass
    raise Malformed(f"release_date: {_short(value)} is not a date like 2026-11-21")


def _short(value: Any) -> str:
    """A value for a message: short, and without characters that could harm a terminal."""
    match value:
        case str() | bool() | None | float():
            text = ascii(value)
        case int() | Decimal():
            text = str(Decimal(value))
        case _:
            text = type(value).__name__
    return text if len(text) <= LONGEST_NUMBER else f"{text[:LONGEST_NUMBER]}…"
