"""An HTML page, parsed for tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "img", "input", "br", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    within: list[Element] = field(default_factory=list)

    def has(self, name: str) -> bool:
        return name in self.attributes.get("class", "").split()


class Page(HTMLParser):
    """Every element of the page in its order, with the text inside it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        assert self._open == [], "an element was left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {attrs}"
        element = Element(tag, {name: value or "" for name, value in attrs}, within=list(self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [one for one in self.elements if one.tag == tag and wanted.items() <= one.attributes.items()]

    def one(self, tag: str, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found

    def meta(self, name: str) -> str:
        found = self.all("meta", name=name) + self.all("meta", property=name)
        assert len(found) == 1, name
        return found[0].attributes["content"]

    @property
    def lang(self) -> str:
        return self.one("html").attributes["lang"]

    @property
    def alternates(self) -> dict[str, str]:
        links = self.all("link", rel="alternate")
        return {link.attributes["hreflang"]: link.attributes["href"] for link in links}

    @property
    def canonical(self) -> str:
        return self.one("link", rel="canonical").attributes["href"]

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """The elements and the names of their attributes, which data must never change."""
        return [(one.tag, tuple(one.attributes)) for one in self.elements]

    @property
    def graph(self) -> dict[str, dict[str, Any]]:
        """The structured data by type."""
        content = json.loads(self.one("script", type="application/ld+json").text)
        assert content["@context"] == "https://schema.org"
        return {one["@type"]: one for one in content["@graph"]}


Open = Callable[..., Page]
