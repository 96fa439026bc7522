"""Pages as bytes, and how many are kept."""

from __future__ import annotations

import gzip

import pytest

from catalog import snapshot
from catalog.pages import printing
from catalog.pages.printing import Press

pytestmark = pytest.mark.usefixtures("catalog")


def test_a_page_is_made_once_for_each_version_of_the_catalog() -> None:
    press, made = Press(), []
    for _ in range(3):
        page = press.get("a", lambda: str(made.append(1)) + "ж")
    assert (len(made), gzip.decompress(page.compressed)) == (1, page.body)
    snapshot.forget()
    press.get("a", lambda: str(made.append(1)))
    assert len(made) == 2


def test_what_was_asked_for_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "KEPT", 2)
    press, made = Press(), []

    def ask(name: str) -> None:
        press.get(name, lambda: made.append(name) or name)  # type: ignore[func-returns-value]  # notes that it was made

    for name in ("a", "b", "a", "c", "a", "b"):
        ask(name)
    assert made == ["a", "b", "c", "b"]


def test_what_is_large_is_made_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "LARGEST_KEPT", 10)
    press, made = Press(), []
    for _ in range(2):
        press.get("a", lambda: "long text" * len(made) + str(made.append(1)) * 9)
    assert len(made) == 2
