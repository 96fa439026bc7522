"""Reads the text of a model's answer, and the tools that the model asks for, while the answer passes.

All four protocols, streamed or not. The answer is a stranger's: each value is looked at before it is used, and only the
beginnings of texts are held in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agents.pod.gateway.replay.texts import READ_CHARACTERS
from agents.pod.gateway.spending.tokens import ModelProtocol

# A longer line of a stream, and a longer answer in one piece, are not read.
LINE_BYTES = 64 * 1024
WHOLE_BYTES = 128 * 1024
MOST_TOOLS = 20  # of one answer
ARGUMENT_CHARACTERS = 1024
_RAW_NAME_CHARACTERS = 200
# A line that is about a tool. When enough of the text is known, other lines are not read.
_TOOL = re.compile(rb"tool|function|partial_json|_call|args")

Json = dict[str, Any]


@dataclass(slots=True)
class AskedTool:
    """A tool that the model asks for. A stream brings its arguments in pieces."""

    name: str
    id: str = ""
    arguments: str = ""


class AnswerTexts:
    def __init__(self, protocol: ModelProtocol, *, is_stream: bool) -> None:
        self.text = ""
        self.tools: list[AskedTool] = []
        self.more_tools = 0
        self._protocol = protocol
        self._is_stream = is_stream
        self._raw = bytearray()
        self._is_long = False
        self._open: dict[tuple[int, int], AskedTool] = {}

    def feed(self, piece: bytes) -> None:
        if not self._is_stream:
            self._add(piece, WHOLE_BYTES)
            return
        *ends, begins = piece.split(b"\n")
        for end in ends:
            self._add(end, LINE_BYTES)
            self._end_line()
        self._add(begins, LINE_BYTES)

    def finish(self) -> None:
        """The answer is complete, or nothing more of it comes."""
        if self._is_stream:
            self._end_line()
        else:
            self._read(bytes(self._raw))
        self._raw.clear()

    def _add(self, part: bytes, most: int) -> None:
        self._is_long = self._is_long or len(self._raw) + len(part) > most
        if self._is_long:
            self._raw.clear()
        else:
            self._raw += part

    def _end_line(self) -> None:
        line = bytes(self._raw)
        self._raw.clear()
        self._is_long = False
        if line.startswith(b"data:") and (len(self.text) < READ_CHARACTERS or _TOOL.search(line)):
            self._read(line[5:])

    def _read(self, raw: bytes) -> None:
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            return
        for one in found if isinstance(found, list) else [found]:  # Google streams a list too
            if isinstance(one, dict):
                self._take(one)

    def _take(self, event: Json) -> None:
        match self._protocol:
            case ModelProtocol.CHAT:
                self._take_chat(event)
            case ModelProtocol.RESPONSES:
                self._take_response(event)
            case ModelProtocol.MESSAGES:
                self._take_message(event)
            case ModelProtocol.GOOGLE:
                self._take_google(event)

    def _take_chat(self, event: Json) -> None:
        for number, choice in enumerate(_objects(event.get("choices"))):
            said = _object(choice.get("delta")) or _object(choice.get("message"))
            self._say(said.get("content"))
            for place, call in enumerate(_objects(said.get("tool_calls"))):
                asked = _object(call.get("function")) or _object(call.get("custom"))
                key = (_number(choice.get("index"), number), _number(call.get("index"), place))
                self._ask(key, asked.get("name"), asked.get("arguments", asked.get("input")), id=call.get("id"))
            if old := _object(said.get("function_call")):
                self._ask((number, -1), old.get("name"), old.get("arguments"))

    def _take_response(self, event: Json) -> None:
        key = (0, _number(event.get("output_index"), 0))
        match event.get("type"):
            case "response.output_text.delta":
                self._say(event.get("delta"))
            case "response.output_item.added":
                self._take_item(key, {**_object(event.get("item")), "arguments": "", "content": None})
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                self._ask(key, None, event.get("delta"))
            case "response.output_item.done" if key not in self._open or not self._open[key].arguments:
                self._take_item(key, {**_object(event.get("item")), "content": None})
            case _:
                for place, item in enumerate(_objects(event.get("output"))):
                    self._take_item((0, place), item)

    def _take_item(self, key: tuple[int, int], item: Json) -> None:
        kind = item.get("type")
        if isinstance(kind, str) and kind.endswith("_call"):
            self._ask(key, item.get("name") or kind, item.get("arguments", item.get("input")), id=item.get("id"))
        self._say(item.get("content"))

    def _take_message(self, event: Json) -> None:
        key = (0, _number(event.get("index"), 0))
        block, delta = _object(event.get("content_block")), _object(event.get("delta"))
        self._say(delta.get("text"))
        if "partial_json" in delta:
            self._ask(key, None, delta["partial_json"])
        blocks = [(key, block)] if block else []
        blocks += [((0, place), one) for place, one in enumerate(_objects(event.get("content")))]
        for place, one in blocks:
            kind = one.get("type")
            if isinstance(kind, str) and kind.endswith("tool_use"):
                self._ask(place, one.get("name"), one.get("input") or "", id=one.get("id"))
            self._say(one.get("text"))

    def _take_google(self, event: Json) -> None:
        for candidate in _objects(event.get("candidates")):
            for part in _objects(_object(candidate.get("content")).get("parts")):
                if part.get("thought") is not True:
                    self._say(part.get("text"))
                if asked := _object(part.get("functionCall")):
                    self._ask((1, len(self.tools)), asked.get("name"), asked.get("args"))

    def _say(self, said: object) -> None:
        """`said` is a text, or a list of parts with texts."""
        for text in [said] if isinstance(said, str) else [part.get("text") for part in _objects(said)]:
            if isinstance(text, str) and len(self.text) < READ_CHARACTERS:
                self.text += text[: READ_CHARACTERS - len(self.text)]

    def _ask(self, key: tuple[int, int], name: object, arguments: object, *, id: object = None) -> None:
        """Note a tool, or the next piece of its arguments. Some vendors number all tools of an answer 0, so another id
        means another tool.
        """
        told_id = id[:_RAW_NAME_CHARACTERS] if isinstance(id, str) else ""
        known = self._open.get(key)
        if known is None or (told_id and known.id and told_id != known.id):
            if not isinstance(name, str):
                return
            if len(self.tools) >= MOST_TOOLS:
                self.more_tools += 1
                return
            known = AskedTool(name[:_RAW_NAME_CHARACTERS], told_id)
            self._open[key] = known
            self.tools.append(known)
        room = ARGUMENT_CHARACTERS - len(known.arguments)
        if room > 0:
            known.arguments += _written(arguments)[:room]


def _written(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict | list):
        return ""
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> Iterator[Json]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


def _number(value: object, otherwise: int) -> int:
    return value if type(value) is int else otherwise
