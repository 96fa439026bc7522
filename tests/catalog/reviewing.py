"""The rules for built-in personas: each check yields its findings, and each finding says where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from catalog.files import Contents
from catalog.models import Engine, Persona, PersonaL10n, Tier
from catalog.vocabulary import Category, EngineStatus, Lang, Risk
from tests.catalog.languages import Languages, anchored, sentences

PER_CATEGORY = 3
SOUL_WORDS = range(200, 601)
DEMO_LINES = range(4, 9)
LABELS = range(4, 7)
TERMS = range(4, 7)
# Measured over four words in a row: the two most similar souls of ours share less than one in a hundred.
ALIKE = 0.03
PROVIDERS = 5
# On WhatsApp an agent can send messages, but nobody can write to it (agents/engines/hermes_channels.py).
DEAF = {"whatsapp"}
TERM = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
CYRILLIC = re.compile(r"[а-яё]", re.IGNORECASE)
LATIN = re.compile(r"[a-z]", re.IGNORECASE)
QUESTION = re.compile(r"[?]")
FORMULA = re.compile(r"=\w[\w.]*\([^()]*\)")
# Characters that are wrong in printed text of each language.
FOREIGN_MARKS = {
    "en": '"«»„',
    "ru": "\"”'",
    "es": "\"„'",
    "pt": "\"«»„'",
    "tr": "\"«»'",
    "ind": "\"«»„'",
}
# The number of Cyrillic letters beside which a line of code may stand.
RUSSIAN = 20
# A lesson quotes the language that it teaches.
LESSONS = {"language-partner"}

Text = Persona | PersonaL10n


def personas(contents: Contents) -> list[Persona]:
    return [row for row in contents.rows[Persona] if isinstance(row, Persona)]


def texts(contents: Contents) -> list[tuple[str, str, Text]]:
    """Every text with its persona's id and its language."""
    localized = [row for row in contents.rows[PersonaL10n] if isinstance(row, PersonaL10n)]
    english: list[tuple[str, str, Text]] = [(row.id, "en", row) for row in personas(contents)]
    return [*english, *((row.persona_id, row.lang, row) for row in localized)]


def read_by_visitors(text: Text) -> Iterator[tuple[str, str]]:
    """Each text that a visitor reads in one language, with its field."""
    yield from (("name", text.name), ("tagline", text.tagline), ("forWho", text.for_who))
    yield from (("does", label) for label in text.does)
    yield from (("doesExamples", question) for question in (text.examples or {}).values())
    yield from (("demo", line["text"]) for line in text.demo or [])
    if text.disclaimer:
        yield "disclaimer", text.disclaimer


def categories(contents: Contents) -> Iterator[str]:
    counts = Counter(persona.category for persona in personas(contents))
    for category in Category.values:
        if counts[category] != PER_CATEGORY:
            yield f"{category}: {counts[category]} personas, not {PER_CATEGORY}"


def souls(contents: Contents) -> Iterator[str]:
    for persona in personas(contents):
        if len(persona.soul.split()) not in SOUL_WORDS:
            yield f"{persona.id}: soul: {len(persona.soul.split())} words"


def likenesses(contents: Contents) -> Iterator[str]:
    """Souls with similar text, and souls made from one template."""
    shingles = {persona.id: _shingles(persona.soul) for persona in personas(contents)}
    openings = {persona.id: _openings(persona.soul) for persona in personas(contents)}
    for one, other in combinations(shingles, 2):
        shared = len(shingles[one] & shingles[other]) / len(shingles[one] | shingles[other])
        if shared > ALIKE:
            yield f"{one}: soul: {shared:.0%} like {other}'s"
        if len(same := openings[one] & openings[other]) > 1:
            yield f"{one}: soul: built like {other}'s: {', '.join(sorted(same))}"


def _shingles(soul: str) -> set[tuple[str, ...]]:
    found = re.findall(r"\w+", soul.lower())
    return set(zip(*(found[start:] for start in range(4)), strict=False))


def _openings(soul: str) -> set[str]:
    """The first three words of each paragraph."""
    return {" ".join(re.findall(r"\w+", part.lower())[:3]) for part in re.split(r"\n\s*\n", soul)}


def demos(contents: Contents) -> Iterator[str]:
    for persona, lang, text in texts(contents):
        roles = [line["role"] for line in text.demo or []]
        if len(roles) not in DEMO_LINES:
            yield f"{persona}: {lang}: demo: {len(roles)} lines"
        if roles != [("user", "agent")[turn % 2] for turn in range(len(roles))]:
            yield f"{persona}: {lang}: demo: the user begins and the agent answers"
        if roles[-1:] != ["agent"]:
            yield f"{persona}: {lang}: demo: the agent has the last word"


def labels(contents: Contents) -> Iterator[str]:
    """In each language, the example questions must have the labels of that language as keys."""
    for persona, lang, text in texts(contents):
        if list(text.does_examples or {}) != text.does:
            yield f"{persona}: {lang}: doesExamples: not the labels of does"


def examples(contents: Contents) -> Iterator[str]:
    for persona, lang, text in texts(contents):
        asked = text.examples or {}
        if len(text.does) not in LABELS:
            yield f"{persona}: {lang}: does: {len(text.does)} labels"
        for label, question in asked.items():
            if not QUESTION.search(question) or question == label:
                yield f"{persona}: {lang}: doesExamples: no question: {question}"
        if len(set(asked.values())) != len(asked):
            yield f"{persona}: {lang}: doesExamples: one question twice"


def completeness(contents: Contents) -> Iterator[str]:
    """Each language must have everything that English has, and nothing in English."""
    every = {(persona, lang): dict.fromkeys(read_by_visitors(text)) for persona, lang, text in texts(contents)}
    for persona in personas(contents):
        english = every[persona.id, "en"]
        for lang in Lang.values:
            found = every.get((persona.id, lang), {})
            if (got := Counter(field for field, _ in found)) != (want := Counter(field for field, _ in english)):
                yield f"{persona.id}: {lang}: says {dict(got)}, English {dict(want)}"
            for field, text in found.keys() & english.keys():
                yield f"{persona.id}: {lang}: {field}: left in English: {text}"


def disclaimers(contents: Contents) -> Iterator[str]:
    risks = {persona.id: persona.risk for persona in personas(contents)}
    for persona, lang, text in texts(contents):
        if bool(text.disclaimer) != (risks[persona] == Risk.HIGH):
            yield f"{persona}: {lang}: disclaimer: must be there exactly when the risk is high"


def models(contents: Contents) -> Iterator[str]:
    """Recommended models must work on an engine of the plan, for several vendors: an owner has a key of one."""
    for persona in personas(contents):
        usable = {vendor for engine in _engines(contents, persona) for vendor in engine.accepted_providers or []}
        vendors = [name.partition(":")[0] for name in persona.recommended_models]
        if unusable := set(vendors) - usable:
            yield f"{persona.id}: recommendedModels: no engine takes {', '.join(sorted(unusable))}"
        if len(set(vendors)) < PROVIDERS or len(set(persona.recommended_models)) < len(vendors):
            yield f"{persona.id}: recommendedModels: {', '.join(persona.recommended_models)}"


def words(contents: Contents) -> Iterator[str]:
    for persona in personas(contents):
        for field, terms in (("skills", persona.skills), ("tags", persona.tags)):
            if len(terms) not in TERMS or len({term.lower() for term in terms}) < len(terms):
                yield f"{persona.id}: {field}: {', '.join(terms)}"
        if unfit := [tag for tag in persona.tags if not TERM.fullmatch(tag)]:
            yield f"{persona.id}: tags: {', '.join(unfit)}"
        if persona.channels[:1] != ["web"] or len(set(persona.channels)) < len(persona.channels):
            yield f"{persona.id}: channels: {', '.join(persona.channels)}"


def tiers(contents: Contents) -> Iterator[str]:
    """The plan must be the smallest with an engine for all channels, unless the persona runs programs."""
    plans = [row.pk for row in contents.rows[Tier]]
    for persona in personas(contents):
        fitting = [plan for plan in plans if _engines(contents, persona, plan=plan)]
        if persona.tier not in fitting:
            yield f"{persona.id}: tier: no engine of {persona.tier} has {', '.join(persona.channels)}"
        elif persona.tier != fitting[0] and "terminal" not in persona.skills:
            yield f"{persona.id}: tier: {fitting[0]} would do"


def _engines(contents: Contents, persona: Persona, *, plan: str | None = None) -> list[Engine]:
    """The stable engines that run on the plan and receive messages on every channel of the persona."""
    plans = [row.pk for row in contents.rows[Tier]]
    room = plans.index(plan or persona.tier)
    return [
        engine
        for engine in contents.rows[Engine]
        if isinstance(engine, Engine)
        and engine.status == EngineStatus.STABLE
        and plans.index(engine.min_tier) <= room
        and set(persona.channels) <= set(engine.channels) - DEAF
    ]


def marks(contents: Contents) -> Iterator[str]:
    """Quotation marks and dots must be those of printed text in each language, except in formulas."""
    for persona, lang, text in texts(contents):
        for field, said in read_by_visitors(text):
            plain = FORMULA.sub("=", said)
            if wrong := set(plain) & set(_foreign_marks(persona, lang)):
                yield f"{persona}: {lang}: {field}: {' '.join(sorted(wrong))} in: {said}"
            if re.search(r"(?<!\d)\.\.\.|  | [,.;?!]|\s$", plain):
                yield f"{persona}: {lang}: {field}: dots or blanks in: {said}"


def _foreign_marks(persona: str, lang: str) -> str:
    return "\"'" if persona in LESSONS else FOREIGN_MARKS[lang]


def scripts(contents: Contents) -> Iterator[str]:
    """Russian text must be Cyrillic, except for names and code, and no other text may be Cyrillic."""
    for persona, lang, text in texts(contents):
        for field, said in read_by_visitors(text):
            cyrillic, latin = len(CYRILLIC.findall(said)), len(LATIN.findall(said))
            if lang == Lang.RU and cyrillic < min(latin, RUSSIAN) and persona not in LESSONS:
                yield f"{persona}: ru: {field}: not in Cyrillic: {said}"
            if lang != Lang.RU and cyrillic:
                yield f"{persona}: {lang}: {field}: in Cyrillic: {said}"


def languages(contents: Contents, known: Languages, *, only: str = "") -> Iterator[str]:
    """No text and no sentence may be in another of the six languages. `only` limits the check to one persona.

    `known` ignores the judged text itself, so it may be older than the change of that persona.
    """
    everything = shelf(contents)
    for persona in [only] if only else everything:
        for lang, said in everything[persona].items():
            if (found := anchored(said)) != lang:
                yield f"{persona}: {lang}: all: in {found}"
    for persona, lang, field, sentence in _sentences(contents, only=only):
        if other := known.foreign(sentence, persona=persona, lang=lang):
            yield f"{persona}: {lang}: {field}: in {other}: {sentence}"


def _sentences(contents: Contents, *, only: str) -> Iterator[tuple[str, str, str, str]]:
    """Every sentence with its place, without conversations that teach a language."""
    judged = [found for found in texts(contents) if only in {found[0], ""}]
    for persona, lang, text in judged:
        for field, said in read_by_visitors(text):
            if persona not in LESSONS or field != "demo":
                yield from ((persona, lang, field, sentence) for sentence in sentences(said))


def shelf(contents: Contents) -> dict[str, dict[str, list[str]]]:
    """All texts that visitors read, by persona and language."""
    found: dict[str, dict[str, list[str]]] = {}
    for persona, lang, text in texts(contents):
        found.setdefault(persona, {})[lang] = [said for _, said in read_by_visitors(text)]
    return found


CHECKS = (
    categories,
    souls,
    likenesses,
    demos,
    labels,
    examples,
    completeness,
    disclaimers,
    models,
    words,
    tiers,
    marks,
    scripts,
)


def review(contents: Contents, known: Languages) -> list[str]:
    """All findings; a catalog without findings may be published."""
    return [*(problem for check in CHECKS for problem in check(contents)), *languages(contents, known)]
