"""Fields for what authors type: the length is checked first, and characters that no page should show are refused."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from config.api import Entries, Several, Text

# Control characters other than line ends and tabs, line separators, and characters that change the text direction.
_UNWELCOME = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile("[\t\n]")
# Characters that Unicode calls ignorable, and blank letters: a name with them could look like another name. Joiners are
# allowed between two characters of non-European scripts and in emoji, variation selectors in emoji.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|^[\u200c\u200d\ufe0e\ufe0f]|(?<=[\u0020-\u058f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?=[\u0020-\u058f]|$)"
)


def _is_seen(character: str) -> bool:
    """Whether the character is visible on a page.

    Characters that this version of Unicode does not know may be new emoji.
    """
    category = unicodedata.category(character)
    return category in {"Cn", "Co"} or category[0] in {"L", "N", "P", "S"}


class Paragraphs(Text):
    """Text of several lines. Line ends become `\
    `.
    """

    unwelcome: tuple[re.Pattern[str], ...] = (_UNWELCOME,)

    def to_internal_value(self, data: Any) -> str:
        if isinstance(data, str) and self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        text = super().to_internal_value(data).replace("\r\n", "\n")
        for pattern in self.unwelcome:
            if found := pattern.search(text):
                raise serializers.ValidationError(f"may not contain the character U+{ord(found[0]):04X}")
        if text and not any(map(_is_seen, text)):
            raise serializers.ValidationError("has no visible character")
        return text


class Line(Paragraphs):
    """Text of one line, without spaces around it."""

    unwelcome: tuple[re.Pattern[str], ...] = (_UNWELCOME, _LINE_ENDS)

    def run_validation(self, data: Any = empty) -> Any:
        return super().run_validation(data.strip() if isinstance(data, str) else data)


class Name(Line):
    """A line whose characters are all visible."""

    unwelcome = (*Line.unwelcome, _INVISIBLE)


class OptionalParagraphs(Paragraphs):
    """Text of several lines; blank text becomes None."""

    def run_validation(self, data: Any = empty) -> Any:
        return super().run_validation(data) or None


class Distinct(Several):
    """A list without repeated values."""

    def to_internal_value(self, data: Any) -> list[Any]:
        values = super().to_internal_value(data)
        for value in values:
            if values.count(value) > 1:
                raise serializers.ValidationError(f"{value!r} is listed twice")
        return values


class Labelled(Entries):
    """An object that maps labels to texts. An empty object becomes None."""

    def __init__(self, *, label: Line, **kwargs: Any) -> None:
        self.label_field = label
        super().__init__(**kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        return super().run_validation(data) or None

    def to_internal_value(self, data: Any) -> Any:
        texts = super().to_internal_value(data)
        return {self.label_field.run_validation(label): text for label, text in texts.items()}
