"""Everything that authors write is data: on no page does it become an element, an attribute, a script or a link."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.conf import settings

from catalog import snapshot, version
from catalog.models import Article, Persona, PersonaL10n
from tests.pages.page import Open, Page

pytestmark = pytest.mark.unmeasured

PAGES = [
    "/en/p/night-owl", "/ru/p/night-owl", "/tr/p/night-owl", "/en/", "/ru/", "/en/c/social", "/ru/c/social",
    "/p/night-owl/note", "/en/p/game-master",
]  # fmt: skip
OF_EACH_LANGUAGE = [f"/{code}/{path}" for code, _ in settings.LANGUAGES for path in ("directory", "status/page")]
MARK = "qzx"
HOSTILE = [
    f"<script>{MARK}()</script>",
    f"</script><script>{MARK}()</script>",
    f"</ScRiPt ><img src=x onerror={MARK}()>",
    f'"><svg onload={MARK}()>',
    f"' onmouseover='{MARK}()",
    f'" autofocus onfocus="{MARK}()',
    f"</title></style></textarea></pre></details><iframe src=//{MARK}.example>",
    f"<!--{MARK}--><![CDATA[{MARK}]]>",
    f"javascript:{MARK}()",
    f"{{{{ {MARK} }}}}{{% {MARK} %}}${{{MARK}}}",
    f"&lt;script&gt;{MARK}&#60;/script&#62;",
    f"\u202e{MARK}\u2066\u200b\ufeff\u0000".replace("\u0000", ""),
    f"{MARK}\u2028\u2029\\u003c/script\\u003e",
    f"\\\"}}]}}</script>{MARK}",
    f"]]>{MARK}\"'`\\",
]  # fmt: skip


def wear(text: str) -> None:
    """Put this text into every field that an author fills in."""
    texts: dict[str, Any] = {
        "name": text, "tagline": text, "for_who": text, "does": [text], "does_examples": {text: text},
        "disclaimer": text, "demo": [{"role": "user", "text": text}, {"role": "agent", "text": text}],
    }  # fmt: skip
    own = {"icon": text[:16], "skills": [text], "tags": [text[:40]], "soul": text, "author": text, "risk": "high"}
    Persona.objects.filter(id="night-owl").update(**texts, **own)
    PersonaL10n.objects.filter(persona="night-owl").update(**texts)
    for article in Article.objects.filter(persona="night-owl"):
        article.title = article.summary = article.body = text
        article.save()
    version.bump()
    snapshot.forget()


@pytest.fixture
def night_owl(community: Persona) -> Persona:
    PersonaL10n.objects.create(persona=community, lang="ru", name="a", tagline="a", for_who="a", does=["a"])
    Article.objects.create(persona=community, slug="note", title="a", summary="a", status="published", body="a")
    return community


@pytest.mark.usefixtures("night_owl")
def test_no_text_of_an_author_changes_the_shape_of_a_page(open_page: Open) -> None:
    wear("harmless")
    shapes = {path: open_page(path).shape for path in PAGES}
    for text in HOSTILE:
        wear(text)
        for path in PAGES:
            page = open_page(path)
            assert page.shape == shapes[path], (path, text)
            _is_contained(page)


def _is_contained(page: Page) -> None:
    """The text is only where text belongs, and it does not change the direction of the text after it."""
    for element in page.elements:
        for name, value in element.attributes.items():
            assert MARK not in value or name == "content", (element.tag, name, value)
    told = [page.one("title").text, *(one.attributes["content"] for one in page.all("meta", property="og:title"))]
    assert not any(re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f]", text) for text in told)
    assert page.graph  # the page's JSON is still valid
    assert "<" not in page.one("script").text
    addresses = [one.attributes["href"] for one in page.all("a")]
    own = (
        settings.BASE_URL,
        "/docs",
        "/guide/",
        "/openapi.json",
        "/account?lang=",
        "/create?persona=",
        "/create/key?persona=",
        "#",
        *OF_EACH_LANGUAGE,
    )
    assert [address for address in addresses if not address.startswith(own)] == []


@pytest.mark.usefixtures("night_owl")
def test_an_authors_text_that_stands_in_a_line_cannot_turn_the_rest_of_it(open_page: Open) -> None:
    wear("\u202eevil")
    page = open_page("/en/p/night-owl")
    holders = [one for one in page.elements if "\u202e" in one.text and one.tag not in {"html", "body", "main"}]
    innermost = [one for one in holders if not any(one in other.within for other in holders)]
    isolating = ("h1", "p", "li", "pre", "strong", "q", "span", "a")
    for one in innermost:
        assert one.tag == "bdi" or (one.tag in isolating and one.attributes.get("dir") == "auto") or one.has("icon")


@pytest.mark.usefixtures("night_owl")
def test_endless_words_and_heaps_of_accents_are_text(open_page: Open) -> None:
    for text in ("W" * 200, "Z" + "\u0300" * 199, "👩‍👩‍👧‍👦" * 18):
        wear(text)
        for path in PAGES:
            open_page(path)


def test_what_a_visitor_types_is_data_too(open_page: Open, community: Persona) -> None:
    shape = open_page("/en/search?q=qqq").shape
    for text in HOSTILE:
        page = open_page("/en/search", data={"q": text})
        assert page.one("input").attributes["value"] == text.strip()
        if page.all("li", class_="card") == []:
            assert page.shape == shape
