"""Markdown that authors wrote, as HTML that may be shown to anybody.

Two walls: the parser renders no HTML of the author's, and whatever it made passes a sanitiser with a short list.
Pictures stand as their descriptions: a page makes no request to a host that an author chose.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import nh3
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

NESTING = 20  # of quotes and lists; deeper is shown as text
LAST_HEADING = 6
REMEMBERED = 64  # texts: the longest take a second

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


@functools.lru_cache(REMEMBERED)
def to_html(text: str) -> SafeString:
    """The text as HTML. Headings start at the second level, for the page has its own first."""
    tokens = _parser.parse(text)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1:]) + 1, LAST_HEADING)}"
    return SafeString(_sanitiser.clean(_renderer.render(tokens, _parser.options, {})))


class _Renderer(RendererHTML):
    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return escapeHtml(self.renderInlineAsText(tokens[idx].children, options, env))


_parser = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING}).enable(["table", "strikethrough"])
_renderer = _Renderer(_parser)
