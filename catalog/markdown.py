"""Markdown that authors wrote, as HTML that may be shown to anybody.

Two walls: the parser renders no HTML of the author's, and whatever it made passes a sanitiser with a short list.
Pictures stand as their descriptions: a page makes no request to a host that an author chose.
Some texts take a second of the processor, so a process makes one at a time, and articles keep what was made of them.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import NamedTuple

import nh3
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

NESTING = 20  # of quotes and lists; deeper is shown as text
LAST_HEADING = 6
HTML_SIZE = 256 * 1024
PARTS = 50_000  # where a paragraph, a list item and a table cell begin, their text and where they end
REMEMBERED = 64  # texts

_sanitiser = nh3.Cleaner(
    tags={
        *("p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre", "code"),
        *("em", "strong", "s", "a", "table", "thead", "tbody", "tr", "th", "td"),
    },
    attributes={"a": {"href", "title"}, "ol": {"start"}},
    clean_content_tags={"script", "style"},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="nofollow ugc noopener",
)


class Rendering(NamedTuple):
    html: SafeString  # never empty: a kept one tells that it was made
    problem: str | None  # too large to be shown otherwise than as it was written


def to_html(text: str) -> SafeString:
    """The text as HTML. Headings start at the second level, for the page has its own first."""
    return rendering(text).html


@functools.lru_cache(REMEMBERED)
def rendering(text: str) -> Rendering:
    with _one_at_a_time:
        return _rendering(text)


@functools.lru_cache(REMEMBERED)  # for those who waited for the same text
def _rendering(text: str) -> Rendering:
    try:
        return Rendering(SafeString(_sized(_sanitiser.clean(_sized(_rendered(text)))) or "\n"), None)
    except _TooLarge as too_large:
        return Rendering(SafeString(_sanitiser.clean(f"<pre>{escapeHtml(text)}</pre>")), str(too_large))


def _rendered(text: str) -> str:
    tokens = _parser.parse(text)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1:]) + 1, LAST_HEADING)}"
    return str(_renderer.render(tokens, _parser.options, {}))


def _sized(html: str) -> str:
    size = len(html.encode())
    if size > HTML_SIZE:
        raise _TooLarge(f"would be {size} bytes of HTML; at most {HTML_SIZE}")
    return html


class _TooLarge(Exception):
    pass


class _Parts(list[Token]):
    """What a text is parsed into; no more of it than can be shown."""

    def append(self, token: Token) -> None:
        if len(self) == PARTS:
            raise _TooLarge(f"has too many paragraphs, list items and table cells: over {PARTS} parts of Markdown")
        super().append(token)


def _bound_parts(state: StateCore) -> None:
    state.tokens = _Parts()


class _Renderer(RendererHTML):
    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return escapeHtml(self.renderInlineAsText(tokens[idx].children, options, env))


_parser = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING}).enable(["table", "strikethrough"])
_parser.core.ruler.before("block", "parts", _bound_parts)
_renderer = _Renderer(_parser)
_one_at_a_time = threading.Lock()
