"""Turns the Markdown of authors into HTML that is safe to show to anybody.

There are two protections: the parser does not pass HTML of the author through, and a sanitiser with a short list of
allowed tags filters the result. Pictures are replaced by their descriptions, so that a page makes no request to a host
that an author chose.
Some texts take a thousand times the work of ordinary prose. So the steps of the parser are counted, and it gives up in
time: no text takes much more than half a second. A process renders one text at a time; articles store the result.
"""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import nh3
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.ruler import Ruler
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from config.errors import Unavailable

NESTING = 20  # of quotes and lists; anything deeper is shown as plain text
LAST_HEADING = 6
HTML_SIZE = 256 * 1024
PARTS = 50_000  # a paragraph, list item or table cell counts as up to three: its start, its text and its end
STEPS = 250_000  # calls of the parser's rules; 64 KiB of prose take 4,000 to 15,000, 64 KiB of links or tables 50,000
REMEMBERED = 64  # texts
PLACES = 8  # of a process; the last in the queue waits a few seconds
PLACES_OF_ONE = 2  # for one author
RETRY_AFTER_SECONDS = 3

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


class Queue:
    """The renderings that run or wait.

    Their number is limited, in total and per author, so that no author fills the queue.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: Counter[str] = Counter()

    @contextmanager
    def place(self, author_id: str) -> Iterator[None]:
        """Render inside this block. Raises Unavailable at once if there is no place."""
        self._enter(author_id)
        try:
            yield
        finally:
            with self._lock:
                self._inside -= Counter([author_id])  # this also forgets authors without a place

    def _enter(self, author_id: str) -> None:
        with self._lock:
            if self._inside.total() < PLACES and self._inside[author_id] < PLACES_OF_ONE:
                self._inside[author_id] += 1
                return
        raise Unavailable(
            f"too many articles are being read as Markdown: try again in {RETRY_AFTER_SECONDS} s",
            retry_after=RETRY_AFTER_SECONDS,
        )


class Rendering(NamedTuple):
    html: SafeString  # never empty: an empty column means "not rendered yet"
    problem: str | None  # why the text can only be shown as it was written


def to_html(text: str) -> SafeString:
    """The text as HTML. Headings start at level 2, because the page has its own heading of level 1."""
    return rendering(text).html


@functools.lru_cache(REMEMBERED)
def rendering(text: str) -> Rendering:
    with _one_at_a_time:
        return _rendering(text)


@functools.lru_cache(REMEMBERED)  # for callers that have waited for the same text
def _rendering(text: str) -> Rendering:
    try:
        return Rendering(SafeString(_sized(_sanitiser.clean(_sized(_rendered(text)))) or "\n"), None)
    except _TooLarge as too_large:
        return Rendering(SafeString(_sanitiser.clean(f"<pre>{escapeHtml(text)}</pre>")), str(too_large))


def _rendered(text: str) -> str:
    _steps.begin()
    tokens = _parser.parse(text)
    _refuse_larger(sum(map(_least, tokens)))
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1:]) + 1, LAST_HEADING)}"
    return str(_renderer.render(tokens, _parser.options, {}))


def _least(token: Token) -> int:
    """The minimum length of the token's HTML: its text and its link targets.

    One link definition may be used many times.
    """
    told = sum(len(str(value)) for value in token.attrs.values())
    return told + (sum(map(_least, token.children)) if token.children else len(token.content))


def _sized(html: str) -> str:
    _refuse_larger(len(html.encode()))
    return html


def _refuse_larger(size: int) -> None:
    if size > HTML_SIZE:
        raise _TooLarge(f"would be {size} bytes of HTML; at most {HTML_SIZE}")


class _TooLarge(Exception):
    pass


class _Parts(list[Token]):
    """The tokens of a text. Raises _TooLarge at more tokens than can be shown."""

    def append(self, token: Token) -> None:
        if len(self) == PARTS:
            raise _TooLarge(f"has too many paragraphs, list items and table cells: over {PARTS} parts of Markdown")
        super().append(token)


class _Steps:
    """Counts the calls of parser rules for a text. Unlike seconds, this number is the same on every machine."""

    def __init__(self) -> None:
        self._left = 0

    def begin(self) -> None:
        self._left = STEPS

    def bound(self, ruler: Ruler[Any]) -> None:
        """Count every call of this ruler's rules."""
        for rule in list(ruler.__rules__):
            ruler.at(rule.name, self._counted(rule.fn), {"alt": rule.alt})

    def _counted(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                raise _TooLarge(
                    f"takes over {STEPS} steps to be read as Markdown, where prose takes some 15000: it has too many"
                    " signs that mean something, such as brackets without an end"
                )
            return rule(*given)

        return counted


def _bound_parts(state: StateCore) -> None:
    state.tokens = _Parts()


class _Renderer(RendererHTML):
    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return escapeHtml(self.renderInlineAsText(tokens[idx].children, options, env))


_parser = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING}).enable(["table", "strikethrough"])
_parser.core.ruler.before("block", "parts", _bound_parts)
_steps = _Steps()
for _ruler in (_parser.block.ruler, _parser.inline.ruler, _parser.inline.ruler2):
    _steps.bound(_ruler)
_renderer = _Renderer(_parser)
_one_at_a_time = threading.Lock()
queue = Queue()
