"""Turns a peer's message into text for the engine: text unchanged, text files with their names, data as JSON.
Engines take a turn's message only as text. Other content is refused. A file that is only a link is not fetched: the
gateway could reach places that the peer cannot reach.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.pod.gateway.a2a.errors import ContentTypeNotSupported, InvalidParams
from agents.pod.gateway.a2a.tasks import PeerMessage
from agents.pod.gateway.chat import MESSAGE_BYTES
from agents.pod.gateway.spending.key_limits import MARKS
from agents.pod.turns.parts import plain_name

# A field in the metadata of a message: how many agents have already passed the question on. If an agent in the chain
# does not know the field, only the time limit of the answers ends a loop.
HOPS = "agentpods/hops"
HOPS_AT_MOST = 4
# Another field: for which API keys the peer asks (agents/pod/gateway/spending/key_limits.py).
KEYS = "agentpods/keys"
# The types that the card offers. Other types are read too if they are text.
MEDIA_TYPES = ["text/plain", "text/markdown", "text/csv", "text/html", "application/json", "application/xml"]
_READ = re.compile(r"text/.+|application/((.+\+)?(json|xml|yaml)|x-yaml|x-ndjson|toml|javascript|sql)|image/svg\+xml")
_JSON = re.compile(r"application/(.+\+)?json")
_CHARSETS = {"", "utf-8", "utf8", "us-ascii"}
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSent:
    """A part of a peer's message, the same for both dialects. The values are not checked yet."""

    text: Any = None
    raw: Any = field(default=None, repr=False)
    url: Any = None
    has_data: bool = False
    data: Any = None
    name: Any = None
    media_type: Any = None


class Spelling(Protocol):
    def part_of(self, raw: Json) -> PartSent: ...


def message_of(spelling: Spelling, raw: Any) -> PeerMessage:
    """The message of a call. Raises InvalidParams, ContentTypeNotSupported."""
    names = _names(raw)
    texts = [_text(spelling.part_of(part) if isinstance(part, dict) else PartSent()) for part in raw["parts"]]
    return PeerMessage(
        names["messageId"],
        "\n".join(text for text in texts if text),
        names["contextId"],
        names["taskId"],
        _hops(raw),
        _marks(raw),
    )


def _names(raw: Any) -> dict[str, Any]:
    wrong = InvalidParams("message: needs messageId and parts")
    if not isinstance(raw, dict) or not isinstance(raw.get("parts"), list) or not raw["parts"]:
        raise wrong
    names = {name: raw.get(name) or None for name in ("messageId", "contextId", "taskId")}
    if not names["messageId"] or any(value is not None and not isinstance(value, str) for value in names.values()):
        raise wrong
    return names


def _hops(raw: Json) -> int:
    """How many agents have passed the message on. Other agents on the way may turn a whole number into a float."""
    metadata = raw.get("metadata")
    said = metadata.get(HOPS) if isinstance(metadata, dict) else None
    if not isinstance(said, int | float) or isinstance(said, bool) or not said > 0:
        return 0
    return int(min(said, HOPS_AT_MOST + 1))


def _marks(raw: Json) -> tuple[str, ...]:
    metadata = raw.get("metadata")
    said = metadata.get(KEYS) if isinstance(metadata, dict) else None
    return tuple(one for one in said[:MARKS] if isinstance(one, str)) if isinstance(said, list) else ()


def _text(part: PartSent) -> str:
    kinds = [part.text is not None, part.raw is not None, part.url is not None, part.has_data]
    if sum(kinds) > 1:
        raise InvalidParams("message: a part is text, a file or data, and one of them alone")
    if isinstance(part.text, str):
        return part.text
    if isinstance(part.raw, str):
        return _file(part, part.raw)
    if part.has_data:
        return _data(part)
    if isinstance(part.url, str):
        raise ContentTypeNotSupported("message: files are not fetched; send the file itself")
    raise ContentTypeNotSupported(f"message: this agent reads text, files of text and data; {_offered()}")


def _file(part: PartSent, encoded: str) -> str:
    media_type = _media_type(part)
    if media_type and not _READ.fullmatch(media_type):
        raise ContentTypeNotSupported(f"message: this agent cannot read {media_type[:100]!r}; {_offered()}")
    if len(encoded) > 2 * MESSAGE_BYTES:
        raise InvalidParams(f"message: at most {MESSAGE_BYTES} bytes of text, its files among them")
    text = _decoded(encoded)
    name = plain_name(part.name) if isinstance(part.name, str) else "without a name"
    return f"[file {name}{f', {media_type}' if media_type else ''}]\n{text}\n[end of the file]"


def _decoded(encoded: str) -> str:
    """The text of a file in base64. As in ProtoJSON, both alphabets are allowed, with or without padding."""
    padded = encoded.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except ValueError as error:
        raise InvalidParams("message: a file's bytes must be base64") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ContentTypeNotSupported(f"message: a file is no text in UTF-8; {_offered()}")
    return text


def _data(part: PartSent) -> str:
    media_type = _media_type(part)
    if media_type and not _JSON.fullmatch(media_type):
        raise ContentTypeNotSupported(f"message: data is read as application/json, not as {media_type[:100]!r}")
    return json.dumps(part.data, ensure_ascii=False)


def _media_type(part: PartSent) -> str:
    """The media type without its parameters; "" if the peer does not say it."""
    said = part.media_type if isinstance(part.media_type, str) else ""
    bare, *parameters = (piece.strip().lower() for piece in said.split(";"))
    charset = next((piece.partition("=")[2].strip('"') for piece in parameters if piece.startswith("charset=")), "")
    if charset not in _CHARSETS:
        raise ContentTypeNotSupported(f"message: text is read in UTF-8, not in {charset[:40]!r}")
    return bare


def _offered() -> str:
    return f"it reads {', '.join(MEDIA_TYPES)} and other text"
