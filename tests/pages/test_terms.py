"""Translations use one word for one thing, one form of address, and the quotation marks of their language.

All that people read in a language: pages, mails, an agent's own pages, the router's.
docs/how-to/translate.md has the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from agents.pod.gateway.words import WORDS
from agents.router import words as routers
from pages import translations
from pages.translations import ROOT, read

MAILS = ROOT / "templates" / "emails"
each_language = pytest.mark.parametrize("language", translations.LANGUAGES)

# If the English text has this word, the translation must have the word given here, in any form.
TERMS = {
    "account": {"es": "cuenta", "id": "akun", "pt": "conta", "ru": "аккаунт", "tr": "hesa[bp]"},
    "agent": {"es": "agente", "id": "agen", "pt": "agente", "ru": "агент", "tr": "ajan"},
    "API key": {
        "es": "claves? de API",
        "id": "kunci API",
        "pt": "chaves? da API",
        "ru": r"ключ\w* API",
        "tr": "API anah",
    },
    "backup": {
        "es": "copias? de seguridad",
        "id": "cadangan",
        "pt": "backup",
        "ru": r"резервн\w+ копи",
        "tr": "yede[kğ]",
    },
    "channel": {"es": "canal", "id": "saluran", "pt": "cana(l|is)", "ru": "канал", "tr": "kanal"},
    "domain": {"es": "dominio", "id": "domain", "pt": "domínio", "ru": "домен", "tr": "alan ad"},
    "e-mail": {"es": "correo", "id": "e-mail", "pt": "e-mail", "ru": "почт", "tr": "e-posta"},
    "engine": {"es": "motor", "id": "mesin", "pt": "motor", "ru": "движ[ко]", "tr": "motor"},
    "event": {"es": "evento", "id": "peristiwa", "pt": "evento", "ru": "событи", "tr": "olay"},
    "gateway": {"es": "pasarela", "id": "gerbang", "pt": "gateway", "ru": "шлюз", "tr": "ağ geçi"},
    "incident": {"es": "incidencia", "id": "gangguan", "pt": "incidente", "ru": "сбо[йеяюи]", "tr": "sorun"},
    "instructions": {"es": "instrucciones", "id": "instruksi", "pt": "instruções", "ru": "инструкци", "tr": "talimat"},
    "invoice": {"es": "factura", "id": "faktur", "pt": "fatura", "ru": "сч[её]т", "tr": "fatura"},
    "licence": {"es": "licencia", "id": "lisensi", "pt": "licença", "ru": "лиценз", "tr": "lisans"},
    "model key": {
        "es": "claves? del modelo",
        "id": "kunci model",
        "pt": "chaves? do modelo",
        "ru": r"ключ\w* модели",
        "tr": "model anahtar",
    },
    "order": {"es": "pedido|pidió", "id": "pesan", "pt": "pedido", "ru": "зака[зж]", "tr": "sipariş"},
    "peer": {"es": "interlocutor", "id": "rekan", "pt": "parceiro", "ru": "собеседник", "tr": "bağlı ajan"},
    "persona": {"es": "personaje", "id": "karakter", "pt": "personage[mn]", "ru": "персонаж", "tr": "karakter"},
    "plan": {"es": "plan", "id": "paket", "pt": "plano", "ru": "тариф", "tr": "plan"},
    "provider": {
        "es": "proveedor",
        "id": "penyedia",
        "pt": "provedor|serviço de pagamento",
        "ru": "провайдер|продав",
        "tr": "sağlayıcı",
    },
    "receipt": {"es": "recibo", "id": "tanda terima", "pt": "recibo", "ru": "квитанци", "tr": "makbuz"},
    "refund": {"es": "reembols", "id": "pengembalian", "pt": "reembols", "ru": "возврат", "tr": "iade"},
    "renewal": {"es": "renova", "id": "perpanjang", "pt": "renova", "ru": "продлен", "tr": "yenile"},
    "secret": {"es": "secret", "id": "rahasia", "pt": "segredo|secret", "ru": "секрет", "tr": "gizli"},
    "skill": {"es": "habilidad", "id": "keahlian", "pt": "habilidade", "ru": "навык", "tr": "beceri"},
    "token": {"es": "token", "id": "token", "pt": "token", "ru": "токен", "tr": "token"},
    "tool": {"es": "herramienta", "id": "alat", "pt": "ferramenta", "ru": "инструмент", "tr": "ara[cç]"},
    "webhook": {"es": "webhook", "id": "webhook", "pt": "webhook", "ru": "вебхук", "tr": "webhook"},
}
# The other form of address, where it is unmistakable. In Spanish a polite request begins a sentence.
ADDRESS = {
    "es": r"\b[Uu]sted(es)?\b|\bsu (navegador|correo)\b|\b(escríban|mánden|díga)[nm]os\b"
    r"|(^|[.:;¿¡] )((añad|vuelv|escrib|elij|introduzc|hag|abr)a|(esper|inici|prueb|copi|intent)e) ",
    "id": r"\b([Kk]amu|[Kk]alian|[Ee]ngkau)\b|\banda\b",
    "pt": r"\b([Tt]u|[Tt]eu|[Tt]ua|[Tt]eus|[Tt]uas|[Cc]ontigo|[Vv]ós)\b",
    "ru": r"\b([Тт]ы|[Тт]ебя|[Тт]ебе|[Тт]во[йяюеёи]\w*|[Вв]ы [А-Я])\b",
    "tr": r"\b([Ss]en|[Ss]enin|[Ss]eni|[Ss]ana|[Ss]enden)\b",
}
QUOTES = {"es": "«»", "id": "“”", "pt": "“”", "ru": "«»", "tr": "“”"}
ANY_QUOTES = re.compile(r'[«»“”„"]')
# Internal and technical words that people need not know.
INSIDE = re.compile(r"\b([Pp]ods?|[MG]iB|[Tt]oolsets?|hostname|cluster|beat|befell?)\b")
VALUE = re.compile(r"%\(\w+\)[sd]|\{\{.*?\}\}|\{%.*?%\}|https?://\S+|\S+@\S+|\b[\w.]*example\.com")


def pairs(language: str) -> Iterator[tuple[str, str]]:
    """Each English text without its placeholders, with each of its translations."""
    for message in read(language):
        if message.id:
            english = message.id if isinstance(message.id, str) else " ".join(message.id)
            for form in [message.string] if isinstance(message.string, str) else message.string or ():
                yield VALUE.sub("", english), form
    for table in (WORDS, routers.WORDS):
        yield from ((english, table[language][name]) for name, english in table["en"].items())


def texts(language: str) -> Iterator[str]:
    yield from (VALUE.sub("", text) for _, text in pairs(language))
    for path in sorted(MAILS.glob(f"*.{language}.txt")):
        yield from (VALUE.sub("", line) for line in path.read_text(encoding="utf-8").splitlines())


def english() -> Iterator[str]:
    for message in translations.found():
        yield from [message.id] if isinstance(message.id, str) else message.id
    for table in (WORDS, routers.WORDS):
        yield from table["en"].values()
    for path in sorted(MAILS.glob("*.en.txt")):
        yield from path.read_text(encoding="utf-8").splitlines()


def has(word: str, text: str) -> bool:
    return re.search(word, text.replace("İ", "i"), re.IGNORECASE) is not None


@each_language
def test_a_thing_has_one_name_in_a_language(language: str) -> None:
    said = list(pairs(language))
    for term, words in TERMS.items():
        named = [(one, told) for one, told in said if has(rf"\b{term}s?\b", one)]
        assert named, term
        assert [told for _, told in named if not has(words[language], told)] == [], term


def test_the_page_for_translators_has_the_words_that_are_checked() -> None:
    rows = {}
    for line in (ROOT / "docs" / "how-to" / "translate.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and line.count("|") == 7:
            english, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            rows[english] = dict(zip(translations.LANGUAGES, cells, strict=True))
    for term, words in TERMS.items():
        assert [lang for lang, word in words.items() if not has(word, rows[term][lang])] == [], term


@each_language
def test_people_are_addressed_in_one_way(language: str) -> None:
    assert [text for text in texts(language) if re.search(ADDRESS[language], text)] == []


@each_language
def test_quotation_marks_are_those_of_the_language(language: str) -> None:
    assert [text for text in texts(language) if set(ANY_QUOTES.findall(text)) - set(QUOTES[language])] == []


def test_turkish_suffixes_hang_on_a_real_apostrophe() -> None:
    assert [text for text in texts("tr") if re.search(r"\w'\w", text)] == []


def test_people_read_no_words_of_machines() -> None:
    assert [text for text in english() if INSIDE.search(VALUE.sub("", text))] == []
