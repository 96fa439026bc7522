"""Our Markdown descriptions as HTML: headings have anchors, wide tables scroll inside the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from django.utils.safestring import SafeString
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

_parser = MarkdownIt("commonmark", {"html": False}).enable("table")


def html(text: str) -> SafeString:
    tokens = _parser.parse(text)
    for opened, said in pairwise(tokens):
        if opened.type == "heading_open":
            opened.attrs["id"] = slugify(said.content)
    return SafeString(_parser.renderer.render(tokens, _parser.options, {}))


def headings(text: str) -> list[tuple[str, str]]:
    """The anchor and the text of each heading of the second level."""
    found = re.findall(r"^## (.+)$", text, re.MULTILINE)
    return [(slugify(one), one) for one in found]


def _table_open(_: Any, tokens: Sequence[Token], *__: Any) -> str:
    return '<div class="scroll" role="group" tabindex="0" aria-label="Table"><table>\n'


def _table_close(_: Any, tokens: Sequence[Token], *__: Any) -> str:
    return "</table></div>\n"


_parser.add_render_rule("table_open", _table_open)
_parser.add_render_rule("table_close", _table_close)
