"""Files, links and data over A2A, in both versions and both directions."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from a2a.helpers import get_data_parts
from a2a.types import Part as SdkPart
from a2a.types import StreamResponse

from agents.pod.turns.parts import DataPart, FilePart, LinkPart, Part, wire
from tests.agents.pod.gateway.a2a.test_client import peer, say
from tests.agents.pod.gateway.a2a.test_endpoint import call, card_of, changed
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble, Event

FILE = FilePart(name="output.txt", media_type="text/plain", content=b"tck")
LINK = LinkPart(name="output.txt", media_type="text/plain", url="https://example.com/output.txt")
DATA = DataPart(value={"key": "value", "count": 42})
LIST = DataPart(value=[1, "two", None])
BOTH = pytest.mark.parametrize("version", ["1.0", "0.3"])


def given(*parts: Part, reply: str = "") -> list[Event]:
    return [*({"type": "part", "part": wire(part)} for part in parts), {"type": "done", "reply": reply}]


def check_all(parts: list[SdkPart]) -> None:
    file, link, data, listed = parts
    assert (file.raw, file.filename, file.media_type) == (b"tck", "output.txt", "text/plain")
    assert (link.url, link.filename, link.media_type) == (LINK.url, "output.txt", "text/plain")
    assert get_data_parts([data, listed]) == [{"key": "value", "count": 42}, [1, "two", None]]


@BOTH
def test_each_part_is_an_artifact_that_the_official_client_reads(
    peerable: GatewayProcess, bridge: BridgeDouble, version: str
) -> None:
    bridge.turn = lambda _: given(FILE, LINK, DATA, LIST, reply="here you are")
    (answer,) = peer(peerable, lambda client: say(client, "hello"), version=version)
    *parts, words = answer.task.artifacts
    assert words.parts[0].text == "here you are"
    assert [artifact.name for artifact in answer.task.artifacts] == [
        "output.txt",
        "output.txt",
        "data",
        "data",
        "reply",
    ]
    assert len({artifact.artifact_id for artifact in answer.task.artifacts}) == 5
    check_all([artifact.parts[0] for artifact in parts])


@BOTH
def test_parts_come_in_a_stream_between_the_words(peerable: GatewayProcess, bridge: BridgeDouble, version: str) -> None:
    words: list[Event] = [{"type": "delta", "text": "here you are"}]
    bridge.turn = lambda _: [*words, *given(FILE, LINK, DATA, LIST, reply="here you are")]

    def updates(events: list[StreamResponse]) -> list[Any]:
        return [event.artifact_update for event in events if event.WhichOneof("payload") == "artifact_update"]

    spoken, *parts = updates(peer(peerable, lambda client: say(client, "hello"), streaming=True, version=version))
    assert spoken.artifact.parts[0].text == "here you are"
    assert [update.append for update in parts] == [False] * 4
    check_all([update.artifact.parts[0] for update in parts])


def test_the_old_dialect_spells_files_in_its_own_way(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: given(FILE, LINK, LIST)
    message = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}
    task = call(peerable, "message/send", {"message": message}, version="0.3")["result"]
    named = {"name": "output.txt", "mimeType": "text/plain"}
    assert [artifact["parts"] for artifact in task["artifacts"]] == [
        [{"kind": "file", "file": {"bytes": "dGNr", **named}}],
        [{"kind": "file", "file": {"uri": LINK.url, **named}}],
        [{"kind": "data", "data": {"value": [1, "two", None]}, "metadata": {"data_part_compat": True}}],
    ]


def test_what_could_not_be_passed_on_is_told_in_words(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: [{"type": "part", "part": {**wire(LINK), "url": "javascript:alert(1)"}}, *given()]
    task = call(peerable, "SendMessage", changed())["result"]["task"]
    (artifact,) = task["artifacts"]
    assert artifact["parts"][0]["text"].startswith("[a part of the answer is left out: a link must begin with http")


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def spelled(version: str, **part: Any) -> dict[str, Any]:
    """The part, which is given as in version 1.0, in the spelling of `version`."""
    if version == "1.0":
        return part
    if "text" in part or "data" in part:
        kind = "text" if "text" in part else "data"
        return {"kind": kind, kind: part[kind]}
    names = {"raw": "bytes", "url": "uri", "filename": "name", "mediaType": "mimeType"}
    return {"kind": "file", "file": {names[name]: value for name, value in part.items()}}


def sent(gateway: GatewayProcess, version: str, *parts: dict[str, Any]) -> Any:
    method, kind = ("SendMessage", {}) if version == "1.0" else ("message/send", {"kind": "message"})
    message = {**kind, "messageId": "m", "role": "user", "parts": [spelled(version, **part) for part in parts]}
    return call(gateway, method, {"message": message}, version=version)


@BOTH
def test_a_file_of_text_and_data_reach_the_engine_as_text(
    peerable: GatewayProcess, bridge: BridgeDouble, version: str
) -> None:
    file = {"raw": encoded(b"\xef\xbb\xbfa,b\n1,2"), "filename": "../t.csv", "mediaType": "text/csv; charset=UTF-8"}
    assert "result" in sent(peerable, version, {"text": "sum it up"}, file, {"data": {"unit": "€"}})
    assert bridge.turns[-1].message == ('sum it up\n[file t.csv, text/csv]\na,b\n1,2\n[end of the file]\n{"unit": "€"}')


@BOTH
@pytest.mark.parametrize(
    "part",
    [
        {"raw": "dGNr", "mediaType": "application/x-unsupported-tck-type"},
        {"url": "http://169.254.169.254/latest/meta-data", "mediaType": "text/plain"},
    ],
)
def test_what_the_agent_cannot_read_is_a_content_type_that_is_not_supported(
    peerable: GatewayProcess, bridge: BridgeDouble, version: str, part: dict[str, Any]
) -> None:
    for parts in ([part], [{"text": "look"}, part]):
        error = sent(peerable, version, *parts)["error"]
        assert (error["code"], error["data"][0]["reason"]) == (-32005, "CONTENT_TYPE_NOT_SUPPORTED")
    assert bridge.turns == []


def test_fields_may_have_the_names_of_the_proto_file(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    """In ProtoJSON, a reader accepts both spellings."""
    part = {"raw": "aGk=", "media_type": "text/plain", "metadata": {"some_key": 1}}
    message = {"message_id": "m", "context_id": "talk", "role": "ROLE_USER", "parts": [part]}
    configuration = {"return_immediately": True, "history_length": 0}
    task = call(peerable, "SendMessage", {"message": message, "configuration": configuration})["result"]["task"]
    assert (task["contextId"], task["status"]["state"], "history" in task) == ("talk", "TASK_STATE_WORKING", False)
    assert "history" not in call(peerable, "GetTask", {"id": task["id"], "history_length": 0})["result"]
    assert call(peerable, "SendMessage", {"message": 5, "configuration": 5})["error"]["code"] == -32602


def test_the_card_says_what_can_be_read(peerable: GatewayProcess) -> None:
    card = card_of(peerable, "/.well-known/agent-card.json")
    assert {"text/plain", "text/csv", "application/json"} <= set(card["defaultInputModes"])
    assert card["defaultOutputModes"] == ["text/plain"]
