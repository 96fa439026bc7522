"""Collects the texts of the pages from templates and code into templates/locale/ and compiles them: `make
translations`.

Translators fill in the .po files. The compiled .mo files are committed, so that a new machine needs no compiler.
tests/pages/test_translations.py compares them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from babel.messages import mofile, pofile
from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "templates" / "locale"
LANGUAGES = ("es", "id", "pt", "ru", "tr")
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)  # a fixed date: the files change only if their texts change
WIDTH = 116


@dataclass(frozen=True, slots=True)
class Message:
    """A text, or a pair of singular and plural. The context separates meanings for which English has one word."""

    id: str | tuple[str, str]
    context: str | None = None

    @property
    def first(self) -> str:
        return self.id if isinstance(self.id, str) else self.id[0]


def found() -> list[Message]:
    """All texts of the pages, each once."""
    templates = (message for room in ("pages", "account") for message in _in_templates(ROOT / "templates" / room))
    rooms = (ROOT / "pages", ROOT / "billing" / "providers", ROOT / "status" / "watch")
    code = (message for room in rooms for message in _in_code(room))
    return list(dict.fromkeys([*templates, *code]))


def path_of(language: str, suffix: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / f"django.{suffix}"


def read(language: str) -> Catalog:
    path = path_of(language, "po")
    if not path.exists():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return pofile.read_po(file, locale=language)


def compiled(catalog: Catalog) -> bytes:
    file = io.BytesIO()
    mofile.write_mo(file, catalog)
    return file.getvalue()


def renewed(language: str) -> Catalog:
    """The texts of today with their existing translations. Texts that the pages no longer use are dropped."""
    known = read(language)
    catalog = Catalog(
        locale=language,
        header_comment="# The pages.",
        project="agentpods",
        version="1",
        creation_date=LONG_AGO,
        revision_date=LONG_AGO,
        last_translator="its authors",
        language_team="its authors",
        msgid_bugs_address="the repository",
        fuzzy=False,
    )
    for message in found():
        kept = known.get(message.first, message.context)
        catalog.add(message.id, kept.string if kept else None, context=message.context)
    return catalog


def _in_templates(folder: Path) -> Iterator[Message]:
    for template in sorted(folder.glob("*.html")):
        lines = templatize(template.read_text(encoding="utf-8")).splitlines()
        yield from _messages("\n".join(line.strip() for line in lines))  # the indentation is not Python's


def _in_code(folder: Path) -> Iterator[Message]:
    for module in sorted(folder.rglob("*.py")):
        yield from _messages(module.read_text(encoding="utf-8"))


def _messages(source: str) -> Iterator[Message]:
    for _, found, _, context in extract("python", io.BytesIO(source.encode()), keywords=KEYWORDS):
        yield Message(found if isinstance(found, str) else (found[0], found[1]), context)


def write() -> None:
    for language in LANGUAGES:
        catalog = renewed(language)
        path_of(language, "po").parent.mkdir(parents=True, exist_ok=True)
        with path_of(language, "po").open("wb") as file:
            pofile.write_po(file, catalog, width=WIDTH, sort_output=True, no_location=True)
        path_of(language, "mo").write_bytes(compiled(read(language)))


if __name__ == "__main__":
    write()
