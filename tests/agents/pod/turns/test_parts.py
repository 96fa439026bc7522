"""Parts of an engine's answer that are not text: which are passed on, and what the reader is told about the others."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from agents.pod.turns.parts import (
    ANSWER_BYTES,
    DATA_BYTES,
    DATA_DEPTH,
    FILE_BYTES,
    PARTS_AT_MOST,
    Allowance,
    DataPart,
    FilePart,
    LinkPart,
    NotePart,
    Part,
    line,
    wire,
)

FILE = FilePart(name="output.txt", media_type="text/plain", content=b"tck")
LINK = LinkPart(name="output.txt", media_type="text/plain", url="https://example.com/output.txt")
DATA = DataPart(value={"key": "value", "count": 42})


def read(raw: Any) -> Part | None:
    return Allowance().read(raw)


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("part", [FILE, LINK, DATA, DataPart(value=None), NotePart(text="left out")])
def test_a_part_arrives_as_it_was_sent(part: Part) -> None:
    assert read(json.loads(json.dumps(wire(part)))) == part


def left_out(*given: Any) -> None:
    for raw in given:
        told = read(raw)
        assert isinstance(told, NotePart), raw
        assert told.text.startswith("a part of the answer is left out: ")


def test_what_is_no_part_is_left_out_and_the_reader_is_told() -> None:
    left_out(None, [], "file", {}, {"kind": "program"}, {"kind": "data"}, {"kind": "link"})


def test_a_file_that_is_too_large_or_unreadable_is_left_out() -> None:
    left_out(
        {"kind": "file", "bytes": 5},
        {"kind": "file", "bytes": "not base64!"},
        {"kind": "file", "bytes": base64.b64encode(b"x" * (FILE_BYTES + 1)).decode()},
        {"kind": "file", "bytes": "A" * (3 * FILE_BYTES)},
    )


def test_a_link_leads_to_the_web_or_it_is_left_out() -> None:
    addresses = [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "data:text/html,<script>",
        "file:///etc/passwd",
        "//example.com/x",
        "https://",
        "https://[::1",
        "https://user:secret@example.com/",
        "https://example.com\\@evil.example/",
        "https://example.com/\nX: y",
        "https://example.com/ü",
        "https://example.com/" + "x" * 2048,
    ]
    left_out(*({"kind": "link", "url": address} for address in addresses))


def test_data_that_is_deep_large_or_no_json_is_left_out() -> None:
    values = [nested(DATA_DEPTH), "x" * DATA_BYTES, float("nan"), ["\ud800"]]
    left_out(*({"kind": "data", "data": value} for value in values))


def test_data_that_is_just_small_enough_passes() -> None:
    assert isinstance(read({"kind": "data", "data": nested(DATA_DEPTH - 1)}), DataPart)
    assert isinstance(read({"kind": "data", "data": "x" * (DATA_BYTES - 2)}), DataPart)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Windows\\x.exe", "x.exe"),
        ("a\r\nContent-Type: x", "aContent-Type: x"),
        ("annual\u202egpj.exe", "annualgpj.exe"),
        ("..", "file"),
        ("", "file"),
        ("x" * 300, "x" * 255),
        (".bashrc", "bashrc"),
    ],
)
def test_a_file_has_a_name_that_may_be_shown_and_saved_anywhere(said: str, shown: str) -> None:
    told = read({**wire(FILE), "name": said})
    assert isinstance(told, FilePart)
    assert told.name == shown


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Text/Plain; charset=utf-8", "text/plain"),
        ("image/svg+xml", "image/svg+xml"),
        ("text/html\r\nX-Evil: yes", "application/octet-stream"),
        ("text", "application/octet-stream"),
        ("", "application/octet-stream"),
        ("*/*", "application/octet-stream"),
        ("a/" + "b" * 200, "application/octet-stream"),
    ],
)
def test_what_is_no_media_type_is_nothing_but_bytes(said: str, told: str) -> None:
    part = read({**wire(LINK), "media_type": said})
    assert isinstance(part, LinkPart)
    assert part.media_type == told


def test_of_too_many_parts_the_reader_is_told_once() -> None:
    allowance = Allowance()
    told = [allowance.judge(DATA) for _ in range(PARTS_AT_MOST + 3)]
    assert told[:PARTS_AT_MOST] == [DATA] * PARTS_AT_MOST
    assert told[PARTS_AT_MOST:] == [
        NotePart(text="an answer has at most 16 parts; the others are left out"),
        None,
        None,
    ]


def test_all_parts_of_an_answer_together_are_bounded_and_a_small_one_still_fits() -> None:
    allowance = Allowance()
    large = FilePart(name="a", media_type="image/png", content=b"x" * (FILE_BYTES - 10))
    assert [allowance.judge(large) for _ in range(ANSWER_BYTES // FILE_BYTES)] == [large, large]
    assert isinstance(allowance.judge(large), NotePart)
    assert allowance.judge(FILE) == FILE


def test_what_an_adapter_gives_is_judged_by_the_same_rules() -> None:
    huge = FilePart(name="a", media_type="image/png", content=b"x" * (FILE_BYTES + 1))
    assert isinstance(Allowance().judge(huge), NotePart)
    assert isinstance(Allowance().judge(DataPart(value=object())), NotePart)
    assert Allowance().judge(NotePart(text="a\nb" + "c" * 600)) == NotePart(text="a b" + "c" * 497)


def test_readers_of_text_alone_hear_what_it_is() -> None:
    assert [line(part) for part in (FILE, LINK, DATA, NotePart(text="left out"))] == [
        "[file output.txt, text/plain, 3 bytes]",
        "[file output.txt, text/plain: https://example.com/output.txt]",
        '{"key": "value", "count": 42}',
        "[left out]",
    ]
