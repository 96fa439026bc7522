"""The parts of an engine's answer other than text (a file, a link to a file, data), and how a turn may end other than
with an answer.
An adapter yields parts among the text pieces of its turn (`base.Turns`). Bridge, gateway and control plane each check
them, because the engine, or another program in its container, may be hostile.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

FILE_BYTES = 1024 * 1024
ANSWER_BYTES = 2 * FILE_BYTES  # for all parts of one answer
PARTS_AT_MOST = 16
DATA_BYTES = 64 * 1024
DATA_DEPTH = 32
URL_CHARACTERS = 2048
NAME_CHARACTERS = 255
UNKNOWN_TYPE = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")
_VISIBLE = re.compile(r"[!-~]+")  # a URL in ASCII, without spaces and control characters

Json = dict[str, Any]


class BadPart(ValueError):
    """The part cannot be passed on. The text gives the reason."""


class TurnEnding(Enum):
    """How a turn ends. If an adapter yields no ending, the turn ends with an answer."""

    ANSWER = "answer"
    REMARK = "remark"  # a short reply, not the result of any work: A2A sends it as a message without a task
    QUESTION = "question"  # the engine needs more information to continue: the A2A task waits for input


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    name: str
    media_type: str  # from the engine; the content is not checked
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPart:
    """A file by its address. None of our programs ever downloads it."""

    name: str
    media_type: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPart:
    value: Any = field(repr=False)  # any JSON value


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePart:
    """A text in place of a part that could not be passed on."""

    text: str


Part = FilePart | LinkPart | DataPart | NotePart


class Allowance:
    """Checks the parts of one answer, one after the other."""

    def __init__(self) -> None:
        self.came = 0
        self._bytes = 0

    def judge(self, part: Part) -> Part | None:
        """The cleaned part; a note if the part breaks a rule; None if there were too many parts before."""
        return self._told(lambda: _tidy(part))

    def read(self, raw: Any) -> Part | None:
        """Like `judge`, for a part in its JSON form."""
        return self._told(lambda: _tidy(_read(raw)))

    def _told(self, tidied: Callable[[], Part]) -> Part | None:
        self.came += 1
        if self.came > PARTS_AT_MOST:
            first = self.came == PARTS_AT_MOST + 1
            return (
                NotePart(text=f"an answer has at most {PARTS_AT_MOST} parts; the others are left out")
                if first
                else None
            )
        try:
            part = tidied()
        except BadPart as bad:
            return _left_out(str(bad))
        if self._bytes + size(part) > ANSWER_BYTES:
            return _left_out(f"an answer has at most {ANSWER_BYTES} bytes beside its text")
        self._bytes += size(part)
        return part


def _left_out(why: str) -> NotePart:
    return NotePart(text=f"a part of the answer is left out: {why}")


def size(part: Part) -> int:
    """The approximate memory of a part in bytes."""
    match part:
        case FilePart(content=content):
            return len(content)
        case LinkPart(url=url):
            return len(url)
        case DataPart(value=value):
            return len(json.dumps(value))
        case NotePart(text=text):
            return len(text)


def wire(part: Part) -> Json:
    """The JSON form of a part, for the way from the bridge to the gateway and on to the control plane."""
    match part:
        case FilePart(name=name, media_type=media_type, content=content):
            return {"kind": "file", "name": name, "media_type": media_type, "bytes": base64.b64encode(content).decode()}
        case LinkPart(name=name, media_type=media_type, url=url):
            return {"kind": "link", "name": name, "media_type": media_type, "url": url}
        case DataPart(value=value):
            return {"kind": "data", "data": value}
        case NotePart(text=text):
            return {"kind": "note", "text": text}


def line(part: Part) -> str:
    """A line of text for readers who see only text. A file is named but not shown; data is shown as JSON."""
    match part:
        case FilePart(name=name, media_type=media_type, content=content):
            return f"[file {name}, {media_type}, {len(content)} bytes]"
        case LinkPart(name=name, media_type=media_type, url=url):
            return f"[file {name}, {media_type}: {url}]"
        case DataPart(value=value):
            return json.dumps(value, ensure_ascii=False)
        case NotePart(text=text):
            return f"[{text}]"


def plain_name(given: str) -> str:
    """A file name that is safe to show and to save: without directories and without unprintable characters."""
    last = re.split(r"[/\\]", given)[-1]
    shown = "".join(character for character in last if character.isprintable()).strip(" .")
    return shown[-NAME_CHARACTERS:] or "file"


def _read(raw: Any) -> Part:
    given: Json = raw if isinstance(raw, dict) else {}
    name, media_type = str(given.get("name") or ""), str(given.get("media_type") or "")
    match given.get("kind"):
        case "file":
            return FilePart(name=name, media_type=media_type, content=_bytes(given.get("bytes")))
        case "link":
            return LinkPart(name=name, media_type=media_type, url=str(given.get("url")))
        case "data" if "data" in given:
            return DataPart(value=given["data"])
        case "note":
            return NotePart(text=str(given.get("text")))
    raise BadPart("it is neither a file, a link nor data")


def _bytes(said: Any) -> bytes:
    if not isinstance(said, str) or len(said) > 2 * FILE_BYTES:
        raise BadPart(f"a file has at most {FILE_BYTES} bytes")
    try:
        return base64.b64decode(said, validate=True)
    except (ValueError, binascii.Error) as error:
        raise BadPart("the bytes of a file must be base64") from error


def _tidy(part: Part) -> Part:
    match part:
        case FilePart(content=content):
            if len(content) > FILE_BYTES:
                raise BadPart(f"a file has at most {FILE_BYTES} bytes")
            return replace(part, name=plain_name(part.name), media_type=_media_type(part.media_type))
        case LinkPart(url=url):
            _check_url(url)
            return replace(part, name=plain_name(part.name), media_type=_media_type(part.media_type))
        case DataPart(value=value):
            _check_data(value)
            return part
        case NotePart(text=text):
            return NotePart(text="".join(one if one.isprintable() else " " for one in text[:500]))


def _media_type(said: str) -> str:
    """The media type without parameters. A text that is no media type becomes UNKNOWN_TYPE."""
    bare = said.partition(";")[0].strip().lower()
    return bare if _MEDIA_TYPE.fullmatch(bare) else UNKNOWN_TYPE


def _check_url(url: str) -> None:
    """Only web addresses are allowed: a link must not be a script or a file on the reader's machine. Raises BadPart."""
    if len(url) > URL_CHARACTERS or not _VISIBLE.fullmatch(url) or "\\" in url:
        raise BadPart(f"a link has at most {URL_CHARACTERS} characters, without spaces")
    try:
        split = urlsplit(url)
        fits = split.scheme in {"http", "https"} and split.hostname and "@" not in split.netloc
    except ValueError:
        fits = False
    if not fits:
        raise BadPart("a link must begin with http:// or https:// and have no credentials")


def _check_data(value: Any) -> None:
    if not _is_shallow(value, DATA_DEPTH):
        raise BadPart(f"data lies at most {DATA_DEPTH} levels deep")
    try:
        # Half of a surrogate pair, and numbers that JSON does not have, would cause an error later wherever the value
        # is written.
        encoded = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, TypeError) as error:
        raise BadPart("data must be JSON") from error
    if len(encoded) > DATA_BYTES:
        raise BadPart(f"data has at most {DATA_BYTES} bytes")


def _is_shallow(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(one, levels - 1) for one in inner)
