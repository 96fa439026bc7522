"""Pages as bytes in a cache of limited size."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from catalog import snapshot
from pages.public import printing
from pages.public.printing import PageCache

pytestmark = pytest.mark.usefixtures("catalog")


class Made(list[str]):
    """The pages that the press (the cache of rendered pages) had rendered."""

    def __call__(self, text: str) -> Callable[[], str]:
        def make() -> str:
            self.append(text)
            return text

        return make


def test_a_page_is_made_once_for_each_version_of_the_catalog() -> None:
    press, made = PageCache(), Made()
    page = [press.get("a", made("ж")) for _ in range(3)][-1]
    assert (made, gzip.decompress(page.compressed)) == (["ж"], "ж".encode())
    snapshot.forget()
    press.get("a", made("new"))
    assert made == ["ж", "new"]


def test_what_was_asked_for_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "KEPT", 2)
    press, made = PageCache(), Made()
    for name in ("a", "b", "a", "c", "a", "b"):
        press.get(name, made(name))
    assert made == ["a", "b", "c", "b"]


def test_what_is_large_is_made_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "LARGEST_KEPT", 10)
    press, made = PageCache(), Made()
    for _ in range(2):
        press.get("a", made("a long text"))
    assert len(made) == 2
