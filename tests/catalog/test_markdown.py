"""Authors' Markdown, rendered as HTML."""

from __future__ import annotations

import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest

from catalog.markdown import HTML_SIZE, rendering, to_html

pytestmark = pytest.mark.unmeasured

SHOWN = {
    *("p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre", "code", "em", "strong"),
    *("s", "a", "table", "thead", "tbody", "tr", "th", "td"),
}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    '<iframe src="https://evil.example">',
    "<style>*{display:none}</style>",
    "<a href='javascript:alert(1)'>a</a>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt&colon;alert(1))",
    "[a](java&Tab;script:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "[a](/admin/)",
    "[a](//evil.example)",
    "[a](\\\\evil.example)",
    "[a](<https://a.example/\" onclick=\"alert(1)>)",
    "[a](https://a.example 'x\" onmouseover=\"alert(1)')",
    "![x](https://evil.example/pixel.png)",
    '![x" onerror="alert(1)](https://evil.example/pixel.png)',
    "![<img src=x onerror=alert(1)>](x)",
    "```html\" onclick=\"alert(1)\n<script>alert(1)</script>\n```",
    "`<script>alert(1)</script>`",
    "[a]: javascript:alert(1)\n\n[a]",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
    "|a|<script>|\n|-|-|\n|<img src=x onerror=alert(1)>|b|",
    "\0<script>\0alert(1)</script>",
]  # fmt: skip


class SeenElements(HTMLParser):
    """Collects every element of a text with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def test_an_article_has_headings_lists_tables_links_and_code() -> None:
    html = to_html(
        "# Plan\n\n1. *one*\n2. **two**\n\n|a|b|\n|-|-|\n|1|2|\n\n> ~~no~~ `x<y`\n\n[site](https://a.example)"
    )
    assert {tag for tag, _ in SeenElements(html).elements} >= {
        "h2",
        "ol",
        "li",
        "em",
        "strong",
        "table",
        "td",
        "s",
        "code",
        "a",
    }
    assert "<code>x&lt;y</code>" in html


def test_headings_start_below_that_of_the_page() -> None:
    tags = [tag for tag, _ in SeenElements(to_html("# 1\n\n## 2\n\n###### 6")).elements]
    assert tags == ["h2", "h3", "h6"]


def test_a_link_leads_out_without_our_recommendation() -> None:
    elements = SeenElements(to_html("<https://a.example/b?c=d&e>")).elements
    assert elements[1] == ("a", {"href": "https://a.example/b?c=d&e", "rel": "nofollow ugc noopener"})


def test_a_picture_stands_as_its_description() -> None:
    assert to_html("see ![my **cat** & me](https://a.example/cat.png)") == "<p>see my cat &amp; me</p>\n"


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_an_author_writes_becomes_more_than_text_and_links_to_elsewhere(text: str) -> None:
    for tag, attributes in SeenElements(to_html(text)).elements:
        assert tag in SHOWN
        assert set(attributes) <= {"a": {"href", "rel", "title"}, "ol": {"start"}}.get(tag, set())
        assert (attributes.get("href") or "https://").startswith(("https://", "http://", "mailto:"))


def test_what_looks_like_html_is_shown_as_it_was_written() -> None:
    assert to_html("<script>alert(1)</script>") == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"


@pytest.mark.parametrize("piece", ["> ", "![", "- a\n "])
def test_the_longest_article_of_one_piece_is_rendered(piece: str) -> None:
    text = (piece * 65_536)[:65_536]
    assert len(to_html(text)) > 0


@pytest.mark.parametrize(
    "text", ["- a\n" * 16_000, "|a\n|-\n" + "a\n" * 30_000, "[a]" * 9_000 + "\n\n[a]: http://a.example/a"]
)
def test_what_would_fill_a_page_is_shown_as_it_was_written(text: str) -> None:
    made = rendering(text)
    assert made.problem
    assert made.html == f"<pre>{text}</pre>"
    assert len(made.html) < HTML_SIZE


def test_who_asks_for_the_same_text_at_once_gets_what_was_made_once() -> None:
    together = threading.Barrier(8)

    def ask(_: int) -> str:
        together.wait()
        return to_html("- *a*\n" * 1_000)

    with ThreadPoolExecutor(8) as readers:
        assert len(set(map(id, list(readers.map(ask, range(8)))))) == 1


ENDLESS = {
    "brackets": "[" * 65_536,
    "pictures": "![" * 32_766,
    "brackets and stars": "[*" * 32_768,
    "lines below a quote": "> " * 50 + "a\n" * 32_700,
    "links without an end": "![a](" * 13_000,
    "pictures in pictures": "![" * 20_000 + "](a)" * 6_000,
    "quotes of references": '[a]: b "' + "x\n" * 32_000,
    "lines of brackets": "[a\n" * 21_000,
    "tables": "|\n|-\n" * 13_000,
}
LEFT = 10.0  # seconds of processor time on a busy machine; 0.1 is usual, and without a limit it took minutes


@pytest.mark.sampled
@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_text_that_takes_too_much_work_is_given_up_and_shown_as_it_was_written(text: str) -> None:
    begun = time.thread_time()
    made = rendering(text)
    assert time.thread_time() - begun < LEFT
    assert "steps to be read as Markdown" in str(made.problem)
    assert made.html.startswith("<pre>")


def test_a_link_that_is_said_once_and_used_often_takes_no_memory() -> None:
    text = "[a]: https://a.example/" + "b" * 20_000 + "\n\n" + "[a]" * 15_000
    tracemalloc.start()
    try:
        made = rendering(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "bytes of HTML; at most 262144" in str(made.problem)
    assert peak < 64 * 2**20
