"""What all of the API shares: camelCase serializers, strict JSON types, the base class of views."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, cast

from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework import exceptions, serializers
from rest_framework.fields import empty
from rest_framework.request import Empty, Request
from rest_framework.viewsets import GenericViewSet

from config import dry_run, help_links, query_names, rate_limits, shown_fields
from config.errors import BadRequest, ErrorCode
from config.parsing import USUAL_BODY_BYTES
from config.refusals import shown

QuickRead = Callable[..., HttpResponse | None]  # of the request and what its path names

_WITH_BODY = ("POST", "PUT", "PATCH")
_WRITING = (*_WITH_BODY, "DELETE")

# Strict JSON types: 5 is not a string, "true" is not a boolean. Numbers are in config/numbers.py.


class Text(serializers.CharField):
    default_error_messages = {"max_length": "has %(show_value)d characters; at most {max_length}"}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"trim_whitespace": False, **kwargs})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError(f"must be a string, not {json_type(data)}")
        return str(super().to_internal_value(data))


class Flag(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError(f"must be true or false, not {json_type(data)}")
        return data


class Choice(serializers.ChoiceField):
    """An enum. The error message has the received value and the allowed values."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            raise serializers.ValidationError(f"must be a string, not {json_type(data)}")
        if data not in self.choices:
            raise serializers.ValidationError(f"{shown(data)} is not one of {', '.join(map(str, self.choices))}")
        return super().to_internal_value(data)


# The elements are counted before any of them is validated: a request with a hundred thousand elements costs no more
# than a request with one too many. Each list, and each object with keys of the caller's choice, uses one of these two
# classes.


class Several(serializers.ListField):
    """A list of at most `max_length` elements."""

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, **kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            raise serializers.ValidationError(f"must be an array, not {json_type(data)}")
        if self.max_length is not None and len(data) > self.max_length:
            raise serializers.ValidationError(f"has {len(data)} elements; at most {self.max_length}")
        if self.min_length is not None and len(data) < self.min_length:
            raise serializers.ValidationError(f"has {len(data)} elements; at least {self.min_length}")
        return super().to_internal_value(data)


class Entries(serializers.DictField):
    """An object of at most `max_length` entries. The caller chooses the keys, which are not changed."""

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        self.max_length = max_length
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise serializers.ValidationError(f"must be an object, not {json_type(data)}")
        if len(data) > self.max_length:
            raise serializers.ValidationError(f"has {len(data)} entries; at most {self.max_length}")
        return super().to_internal_value(data)


class TextMap(Entries):
    """An object whose values are strings."""

    child = Text(allow_blank=True)


def json_type(value: Any) -> str:
    """The name of the value's JSON type, with its article."""
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "null")


# camelCase in JSON, snake_case in Python. Declared fields are renamed, keys of the caller's choice are not.


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


# These base classes have comments instead of docstrings: /openapi.json would show a docstring for each subclass.


# Renames declared snake_case fields to camelCase in JSON.
class _CamelCase:
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in vars(cls):
            if name.startswith("validate_") and "_" in name.removeprefix("validate_"):
                raise TypeError(f"{cls.__name__}.{name} would never run: use validators=[…] or validate()")

    def get_fields(self) -> dict[str, Any]:
        renamed: dict[str, Any] = {}
        for name, field in super().get_fields().items():  # type: ignore[misc]  # a mixin before serializers.Serializer
            wire = camel(name)
            if wire != name:
                if isinstance(field, serializers.SerializerMethodField):
                    field.method_name = field.method_name or f"get_{name}"
                elif field.source is None:
                    field.source = name
            renamed[wire] = field
        return renamed


class Serializer(_CamelCase, serializers.Serializer[Any]):
    default_error_messages = {"invalid": "must be an object"}

    # `only` names the fields to show, as callers of `?fields=` choose them.
    def __init__(self, *args: Any, only: Collection[str] | None = None, **kwargs: Any) -> None:
        self._only = only
        super().__init__(*args, **kwargs)

    def get_fields(self) -> dict[str, Any]:
        every = super().get_fields()
        return every if self._only is None else {name: every[name] for name in every if name in self._only}


# A name that it does not know is refused, not ignored: a misspelt limit would be no limit.
class ExactSerializer(Serializer):
    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := [str(name) for name in data if name not in self.fields]):
            words = f"this call takes nothing of this name; allowed: {', '.join(self.fields)}"
            raise serializers.ValidationError({unknown[0][:80]: words})
        return super().to_internal_value(data)


class FieldNames(Text):
    """The query parameter `fields` of a read that chooses them itself (`own_fields`): names of fields of `of`."""

    def __init__(self, *, of: type[Serializer]) -> None:
        self._of = of
        super().__init__(required=False, max_length=shown_fields.MAX_CHARACTERS, help_text=shown_fields.DESCRIPTION)

    def run_validation(self, data: Any = empty) -> Any:
        return shown_fields.names_of(super().run_validation(data), self._of().fields)


def envelope(name: str, **fields: Any) -> type[Serializer]:
    """A body with these keys. The API's description calls it `name`."""
    return cast("type[Serializer]", type(name, (Serializer,), fields))


class ReceivedSerializer(Serializer):
    """To those who call us by themselves: what they brought is kept."""

    ok = serializers.BooleanField()


class ModelSerializer(_CamelCase, serializers.ModelSerializer[Any]):
    pass


class ErrorSerializer(Serializer):
    """The body of every 4xx and 5xx (spec: Errors)."""

    error = serializers.ChoiceField(choices=[code.value for code in ErrorCode])
    message = serializers.CharField()


# A view authenticates, validates, calls one rule and serializes the result. `refusals` names the error statuses of an
# action that do not follow from its credential, path and body (config/openapi.py). `changed_by` maps a field of the
# resource, by its JSON name, to the call that changes it. `max_body_bytes` is the largest body that a valid request may
# need. `no_dry_run` says of an action why it cannot be tried (config/dry_run.py). `own_fields`: the actions that take
# `?fields=` themselves; config/shown_fields.py serves the others.
class ApiViewSet(GenericViewSet[Any]):
    refusals: Mapping[str, Collection[int]] = {}
    changed_by: Mapping[str, str] = {}
    no_dry_run: Mapping[str, str] = {}
    own_fields: Collection[str] = ()
    _shown_fields: shown_fields.ShownFields | None = None
    max_body_bytes = USUAL_BODY_BYTES  # of a request; a larger body is answered with 413 before it is parsed
    # No OPTIONS: the framework would describe our serializers in its own format, and fail where a view has none.
    # /openapi.json describes them.
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]

    # Quick ways of reads that clients call all the time, by the action's name: None leaves a request to the action.
    quick_reads: Mapping[str, QuickRead] = {}
    _quick_failure: Exception | None = None

    @property
    def chosen_fields(self) -> Collection[str] | None:
        """The fields that `?fields=` chooses, for an action that can make a narrow answer at once."""
        return self._shown_fields.names if self._shown_fields else None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return self._quick_answer(request, **kwargs) or super().dispatch(request, *args, **kwargs)

    def _quick_answer(self, request: HttpRequest, **kwargs: Any) -> HttpResponse | None:
        if request.method != "GET" or request.META.get("QUERY_STRING") or "HTTP_PREFER" in request.META:
            return None
        read = self.quick_reads.get(self.action_map.get("get", ""))
        try:
            answer = read(request, **kwargs) if read else None
        except (DatabaseError, InterfaceError) as failure:
            self._quick_failure = failure
            return None
        if answer is not None:
            answer["Allow"] = ", ".join(self.allowed_methods)
        return answer

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        rate_limits.begin()
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a body that is not an object. This comes after the credential check and before any look-up."""
        if self._quick_failure is not None:
            raise self._quick_failure  # a database that is away would only let the caller wait twice as long
        super().initial(request, *args, **kwargs)
        if self.schema is not None and request.method in _WRITING and dry_run.is_asked(request.query_params):
            self._only_try(request)
        if request.method not in _WRITING and shown_fields.PARAMETER in request.query_params:
            self._shown_fields = shown_fields.ShownFields.asked(request, self)
        if request.method in _WITH_BODY:
            self._check_body(request.data)

    def _check_body(self, body: object) -> None:
        if not isinstance(body, Mapping):
            raise BadRequest(f"body: must be an object, not {json_type(body)}")
        if self.schema is not None:
            dry_run.refuse_in_body(body)

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        words = f"method: {request.method} is not taken here; allowed: {', '.join(self.allowed_methods)}"
        raise exceptions.MethodNotAllowed(str(request.method), words)

    def _only_try(self, request: Request) -> None:
        """Let this request's action be tried and taken back. Raises NoDryRun."""
        if why := self.why_no_dry_run():
            raise dry_run.NoDryRun(why)
        method = str(request.method).lower()
        setattr(self, method, partial(self._tried, getattr(self, method)))

    # Why the action cannot be tried, else an empty text.
    def why_no_dry_run(self) -> str:
        if not self.get_authenticators():
            return "it takes no credential"
        return self.no_dry_run.get(self.action, "")

    def _tried(self, action: Any, request: Request, *args: Any, **kwargs: Any) -> Any:
        response, skipped = dry_run.tried(partial(action, request, *args, **kwargs))
        response[dry_run.HEADER] = "true"
        response[dry_run.COST] = self.cost_of(response)
        if skipped:
            response[dry_run.SKIPPED] = ", ".join(skipped)
        return response

    # What the tried call would cost, in USD.
    def cost_of(self, response: Any) -> str:
        return "usd=0.00"

    def query(self, taken: type[Serializer]) -> dict[str, Any]:
        """The validated query of the address, in snake_case, with the parameters that this serializer takes."""
        given = taken(data=self.request.query_params.dict())
        given.is_valid(raise_exception=True)
        validated: dict[str, Any] = given.validated_data
        return validated

    def valid(self, request: Request, **kwargs: Any) -> dict[str, Any]:
        """Return the validated body in snake_case. Unknown top-level keys are ignored and named in `Ignored-Fields`.

        Raises BadRequest for a field that another call changes; the message names that call.
        """
        serializer = self.get_serializer(data=request.data, **kwargs)
        try:
            if isinstance(request.data, Mapping):
                known = getattr(serializer, "fields", {})
                self.ignored = [str(key) for key in request.data if key not in known]
                self._refuse_what_others_take(self.ignored)
            serializer.is_valid(raise_exception=True)
            validated: dict[str, Any] = serializer.validated_data
            return validated
        finally:
            vars(serializer).update(initial_data=None, _kwargs={})  # see `finalize_response`

    def _refuse_what_others_take(self, names: list[str]) -> None:
        for name in names:
            if name in self.changed_by:
                raise BadRequest(f"{name}: this call does not take it; {self.changed_by[name]}")

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """The last step of each request. It frees what the body was parsed into.

        The framework's requests and serializers refer to each other in cycles, so only a full garbage collection would
        free them. A body of 1 MiB can be 50 MB of objects.
        """
        if self._shown_fields is not None:
            try:
                self._shown_fields.narrow(response)
            except BadRequest as refusal:
                response = self.handle_exception(refusal)
        response = super().finalize_response(request, response, *args, **kwargs)
        vars(request).update(_data=Empty, _full_data=Empty)
        if self.schema is not None:
            if response.status_code >= 400 and not response.has_header("Link"):
                response["Link"] = help_links.of_call(self, request)
            for name, value in rate_limits.headers().items():
                response[name] = value
        rate_limits.forget()
        ignored = [*getattr(self, "ignored", ())]
        if response.status_code < 400:  # a query that cannot be read is refused, and would be read again here
            ignored += query_names.unknown(self, request)
        if ignored:
            safe = [key for key in ignored if key.isascii() and key.replace("_", "").replace("-", "").isalnum()]
            response["Ignored-Fields"] = ",".join(safe)[:500]
        return response
