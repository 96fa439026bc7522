"""All texts of the pod's pages: one file per language, with the same names in each."""

from __future__ import annotations

from agents.pod.gateway.words import en, es, pt, ru, tr
from agents.pod.gateway.words import id as indonesian

WORDS = {
    "en": en.WORDS,
    "ru": ru.WORDS,
    "es": es.WORDS,
    "pt": pt.WORDS,
    "tr": tr.WORDS,
    "id": indonesian.WORDS,
}


def texts(lang: str, *, name: str) -> dict[str, str]:
    """All texts in `lang`, or in English if that language has none. The entry `lang` is the language used."""
    chosen = lang if lang in WORDS else "en"
    return {"lang": chosen, **{key: text.replace("{name}", name) for key, text in WORDS[chosen].items()}}
