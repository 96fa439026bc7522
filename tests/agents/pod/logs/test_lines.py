"""Lines of a log: safe to look at, masked before they are cut, and with the level that the line itself names."""

from __future__ import annotations

import json

import pytest

from agents.pod.logs.lines import LINE_CHARACTERS, Level, clean, decoded, level_of, prepared


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil.example\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("up\x1b[2A\x1b[2Kdown", "updown"),
        ("a\x00b\x08c\x7fd\x9be", "abcde"),
        ("\u202eevil\u202c", "evil"),
        ("tab\tstays", "tab\tstays"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("\x1b[", ""),
    ],
)
def test_what_a_terminal_would_obey_is_gone(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_a_line_is_masked_before_it_is_cut() -> None:
    text = prepared("x" * (LINE_CHARACTERS - 4) + "sk-secret-0123456789" + "y" * 50, ["sk-secret-0123456789"])
    assert "sk-s" not in text
    assert "[cut: " in text


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("2026-11-24 ERROR something broke", Level.ERROR),
        ("[WARN] careful", Level.WARNING),
        ('{"level":"debug","msg":"x"}', Level.DEBUG),
        ("level=info msg=x", Level.INFO),
        ("there was no error", None),
        ("x" * 200 + " ERROR", None),
    ],
)
def test_the_level_is_what_the_line_says_at_its_beginning(text: str, level: Level | None) -> None:
    assert level_of(text) == level


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"1", b"{", b"\xff", b'{"s":"engine"}', b'{"s":"owner","t":1,"l":null,"x":"a"}',
     b'{"s":"engine","t":"x","l":null,"x":"a"}', b'{"s":"engine","t":1,"l":"loud","x":"a"}',
     b'{"s":"engine","t":1,"l":null,"x":["a"]}', b"[" * 100_000],
)  # fmt: skip
def test_what_is_no_line_is_none(raw: bytes) -> None:
    assert decoded(raw) is None


def test_a_line_of_no_time_that_there_is_has_one() -> None:
    for at in (1e300, -5, float("inf")):
        found = decoded(json.dumps({"s": "engine", "t": at, "l": None, "x": "a"}).encode())
        assert found
        assert 0 <= found.at < 1e12
