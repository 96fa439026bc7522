"""`?fields=id,name` of any read: its answer with these fields only.

The first field of an answer is what the caller asked for: an object or a list of objects, whose fields can be chosen.
What comes beside it stays. An answer whose first field is plain is itself what the caller asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

import orjson
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import parse_etags
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.errors import BadRequest
from config.json_answers import encoded
from config.refusals import shown

PARAMETER = "fields"
DESCRIPTION = "Only these fields of each, with commas between their names: a shorter answer."
MAX_CHARACTERS = 2_000
# A longer answer is kept as bytes, and its objects would take seconds and hundreds of megabytes.
MAX_BYTES = 2 * 1024 * 1024
_JSON = "application/json"

_subjects: dict[tuple[type[Any], str | None], AnswerSubject | None] = {}  # by view and action


@dataclass(frozen=True, slots=True)
class AnswerSubject:
    """What an answer is about: the field `key`, or the answer itself, and the names that it has."""

    key: str | None
    names: Collection[str]


def subject_of(declared: Any) -> AnswerSubject | None:
    """The subject of the JSON among the answers that `extend_schema` declares; None if there is no JSON object."""
    if isinstance(declared, Mapping):
        declared = declared.get(200, declared.get((200, _JSON)))
    answer = declared() if isinstance(declared, type) and issubclass(declared, serializers.Serializer) else declared
    if not isinstance(answer, serializers.Serializer) or not answer.fields:
        return None
    key, first = next(iter(answer.fields.items()))
    inner = getattr(first, "child", first)
    return (
        AnswerSubject(key, list(inner.fields))
        if isinstance(inner, serializers.Serializer)
        else AnswerSubject(None, [*answer.fields])
    )


def names_of(text: str, known: Iterable[str]) -> list[str]:
    """The names in `fields`. Raises ValidationError for one that is not known."""
    allowed = list(known)
    named = [name.strip() for name in text.split(",")]
    for name in named:
        if name not in allowed:
            raise serializers.ValidationError(f"{shown(name)} is not one of {', '.join(allowed)}")
    return named


@dataclass(frozen=True, slots=True)
class ShownFields:
    """The fields that the caller of a read chose."""

    subject: AnswerSubject
    names: Collection[str]
    known: str  # the `If-None-Match` of the request

    @classmethod
    def asked(cls, request: Request, view: Any) -> Self | None:
        """What this request chooses; None if its answer is no JSON, or the view does it. Raises ValidationError."""
        subject = None if view.schema is None or view.action in view.own_fields else _subject(view)
        if subject is None:
            return None
        text = request.query_params[PARAMETER]
        try:
            names = names_of(_checked(text), subject.names)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({PARAMETER: error.detail}) from None
        # The action makes its whole answer, plain, which this request does not have yet.
        request.META.pop("HTTP_ACCEPT_ENCODING", None)
        return cls(subject, names, request.META.pop("HTTP_IF_NONE_MATCH", ""))

    def narrow(self, response: HttpResponseBase) -> None:
        """Leave the chosen fields in the response, and choose them on its next page too.

        Raises BadRequest for a list that is too long to be read whole.
        """
        if response.status_code != 200:
            return
        if isinstance(response, Response):
            response.data = self._of(response.data)
        elif isinstance(response, HttpResponse) and response.headers.get("Content-Type") == _JSON:
            self._rewrite(response)
        url, is_next, rest = response.headers.get("Link", "").partition('>; rel="next"')
        if is_next:
            response.headers["Link"] = f"{url}&{urlencode({PARAMETER: ','.join(self.names)})}{is_next}{rest}"

    def _rewrite(self, response: HttpResponse) -> None:
        if not getattr(response, "has_chosen_fields", False):
            if len(response.content) > MAX_BYTES:
                words = f"fields: the whole answer has more than {MAX_BYTES} bytes; ask for pages with limit, too"
                raise BadRequest(words)
            response.content = encoded(self._of(orjson.loads(response.content)))
        if response.has_header("Content-Length"):
            response["Content-Length"] = str(len(response.content))
        if response.has_header("ETag"):
            response["ETag"] = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
            self._save(response)

    def _save(self, response: HttpResponse) -> None:
        """Make it 304 if the caller has it already."""
        known = {tag.removeprefix("W/") for tag in parse_etags(self.known)}
        if response["ETag"] in known or "*" in known:
            response.status_code, response.content = 304, b""
            del response["Content-Length"], response["Content-Type"]

    def _of(self, body: Any) -> Any:
        key = self.subject.key
        if key is None or not isinstance(body, Mapping):
            return self._only(body)
        return {**body, key: self._only(body.get(key))}

    def _only(self, shown: Any) -> Any:
        if isinstance(shown, list):
            return [self._only(one) for one in shown]
        if not isinstance(shown, Mapping):
            return shown
        return {name: value for name, value in shown.items() if name in self.names}


def _subject(view: Any) -> AnswerSubject | None:
    """The subject of the view's action. Making all serializers takes milliseconds, so it is found once."""
    key = type(view), view.action
    if key not in _subjects:
        _subjects[key] = subject_of(_declared(view))
    return _subjects[key]


def _declared(view: Any) -> Any:
    """The answers of the view's action, as `/openapi.json` has them. A method that is not taken has no action."""
    action = getattr(view, view.action or "", None)
    if action is None:
        return None
    kind = getattr(action, "kwargs", {}).get("schema")
    if kind is None:
        return view.serializer_class
    schema = kind()
    schema.view, schema.method = view, "GET"
    return schema.get_response_serializers()


def _checked(text: str) -> str:
    if not text.strip():
        raise serializers.ValidationError("came blank; give names of fields")
    if len(text) > MAX_CHARACTERS:
        raise serializers.ValidationError(f"has {len(text)} characters; at most {MAX_CHARACTERS}")
    return text
