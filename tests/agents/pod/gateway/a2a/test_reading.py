"""Which parts of a peer's message become text for the engine, and what a peer is told about the other parts."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from agents.pod.gateway.a2a.dialects import Dialect, Version03, Version1
from agents.pod.gateway.a2a.errors import ContentTypeNotSupported, InvalidParams
from agents.pod.gateway.a2a.reading import message_of
from agents.pod.gateway.a2a.tasks import PeerMessage, Task
from agents.pod.turns.parts import DataPart, FilePart, LinkPart, NotePart

Json = dict[str, Any]


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def read(part: Any, dialect: Dialect | None = None) -> str:
    return message_of(dialect or Version1(), {"messageId": "m", "parts": [part]}).text


def refused_as_unsupported(*parts: Any) -> None:
    for part in parts:
        with pytest.raises(ContentTypeNotSupported):
            read(part)


def refused_as_invalid(*parts: Any) -> None:
    for part in parts:
        with pytest.raises(InvalidParams):
            read(part)


def test_a_file_is_read_by_what_it_says_it_is_or_else_by_what_it_is() -> None:
    csv = {"raw": encoded(b"\xef\xbb\xbfa,b"), "filename": "../t.csv", "mediaType": "text/csv; charset=UTF-8"}
    assert read(csv) == "[file t.csv, text/csv]\na,b\n[end of the file]"
    assert read({"raw": "aGk=", "filename": "notes"}) == "[file notes]\nhi\n[end of the file]"
    assert read({"raw": "", "mediaType": "text/plain"}) == "[file without a name, text/plain]\n\n[end of the file]"
    for kind in ("application/json", "application/problem+xml", "application/yaml", "image/svg+xml", "TEXT/MARKDOWN"):
        assert "\nhi\n" in read({"raw": "aGk=", "mediaType": kind})


def test_base64_is_taken_in_both_alphabets_with_or_without_padding() -> None:
    for raw in ("PD8-", "PD8+", "e30", "e30="):
        assert read({"raw": raw})


def test_data_is_read_as_json() -> None:
    assert read({"data": {"unit": "€"}}) == '{"unit": "€"}'
    assert read({"data": None}) == "null"
    assert read({"data": [1], "mediaType": "application/json"}) == "[1]"
    assert read({"kind": "data", "data": {"a": 1}}, Version03()) == '{"a": 1}'


def test_what_is_no_text_is_a_content_type_that_is_not_supported() -> None:
    refused_as_unsupported(
        {"raw": "dGNr", "mediaType": "application/x-unsupported-tck-type"},
        {"raw": encoded(b"\x89PNG"), "mediaType": "image/png"},
        {"raw": encoded(b"\x89PNG\xff"), "mediaType": "text/plain"},  # whatever type it claims to have
        {"raw": encoded(b"a\0b"), "filename": "unknown"},
        {"raw": encoded("ü".encode("latin-1")), "mediaType": "text/plain; charset=iso-8859-1"},
        {"data": {}, "mediaType": "application/x-protobuf"},
    )


def test_a_file_by_its_address_is_never_fetched() -> None:
    refused_as_unsupported({"url": "http://169.254.169.254/", "mediaType": "text/plain"}, {"url": "file:///etc/passwd"})
    with pytest.raises(ContentTypeNotSupported, match="not fetched"):
        read({"kind": "file", "file": {"uri": "https://example.com/a.txt"}}, Version03())


def test_a_part_that_is_nothing_known_is_not_supported() -> None:
    refused_as_unsupported({}, "hi", {"text": 5}, {"raw": 5}, {"url": 5})
    for part in ({"text": "hi"}, {"kind": "file", "file": 5}, {"kind": "text"}, {"kind": "video", "text": "hi"}):
        with pytest.raises(ContentTypeNotSupported):
            read(part, Version03())


def test_a_part_that_is_wrong_in_itself_is_invalid() -> None:
    refused_as_invalid(
        {"text": "hi", "raw": "aGk="},
        {"url": "https://example.com", "data": 5},
        {"raw": "%%%"},
        {"raw": "A"},
        {"raw": encoded(b"x" * 200_000)},
    )


@pytest.mark.parametrize(
    "raw",
    [5, {"messageId": "m"}, {"messageId": "m", "parts": []}, {"messageId": 5, "parts": [{"text": "hi"}]}],
)
def test_what_is_no_message_is_invalid(raw: Any) -> None:
    with pytest.raises(InvalidParams):
        message_of(Version1(), raw)


@pytest.mark.parametrize(("said", "hops"), [(2, 2), (2.0, 2), (99, 5), (True, 0), ("3", 0), (-1, 0)])
def test_how_many_agents_a_message_has_passed_is_read_from_its_metadata(said: Any, hops: int) -> None:
    raw = {"messageId": "m", "parts": [{"text": "hi"}], "metadata": {"agentpods/hops": said}}
    assert message_of(Version1(), raw).hops == hops


def told(dialect: Dialect) -> list[Json]:
    """Parts of each kind, in the spelling of this version."""
    task = Task(PeerMessage("m", "hi", "talk", None), "talk", "peer")
    task.say("here")
    task.give(FilePart(name="a.txt", media_type="text/plain", content=b"tck"))
    task.give(LinkPart(name="a.txt", media_type="text/plain", url="https://example.com/a.txt"))
    task.give(DataPart(value={"a": 1}))
    task.give(DataPart(value=[1]))
    task.give(NotePart(text="left out"))
    return [part for artifact in dialect.task(task, history=None)["artifacts"] for part in artifact["parts"]]


def test_both_versions_spell_each_kind_of_part_in_their_own_way() -> None:
    named, old = {"filename": "a.txt", "mediaType": "text/plain"}, {"name": "a.txt", "mimeType": "text/plain"}
    assert told(Version1()) == [
        {"text": "here"},
        {"raw": "dGNr", **named},
        {"url": "https://example.com/a.txt", **named},
        {"data": {"a": 1}, "mediaType": "application/json"},
        {"data": [1], "mediaType": "application/json"},
        {"text": "[left out]"},
    ]
    assert told(Version03()) == [
        {"kind": "text", "text": "here"},
        {"kind": "file", "file": {"bytes": "dGNr", **old}},
        {"kind": "file", "file": {"uri": "https://example.com/a.txt", **old}},
        {"kind": "data", "data": {"a": 1}},
        {"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": True}},
        {"kind": "text", "text": "[left out]"},
    ]


def test_fields_may_have_the_names_of_the_proto_file_and_camel_case_wins() -> None:
    """In ProtoJSON, a reader accepts both spellings. Names inside data and metadata are the peer's own and stay."""
    part = {"raw": "aGk=", "media_type": "text/plain", "metadata": {"some_key": 1}}
    given = {"history_length": 1, "historyLength": 2, "message": {"message_id": "m", "parts": [part]}}
    assert Version1().params(given) == {
        "historyLength": 2,
        "message": {
            "messageId": "m",
            "parts": [{"raw": "aGk=", "mediaType": "text/plain", "metadata": {"some_key": 1}}],
        },
    }
    assert Version1().params({"message": 5, "configuration": None}) == {"message": 5, "configuration": None}
    assert Version03().params({"history_length": 1}) == {"history_length": 1}
