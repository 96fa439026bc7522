"""Form fields of the admin for input on which Django's own fields fail: JSON, and ids of rows."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.forms.fields import InvalidJSONInput

from config.parsing import BadText, strict_json

MAX_DEPTH = 20  # writing indented JSON recurses deeper than reading it


class IndentedJson(json.JSONEncoder):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "indent": 2})


class JsonFormField(forms.JSONField):
    """JSON that can be stored. A refused form shows again what the operator typed."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "encoder": IndentedJson})

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value not in self.empty_values:
            _check_json(value)
        return super().to_python(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        return initial if self.disabled or data is None else InvalidJSONInput(data)


class RowFormField(forms.ModelChoiceField[Any]):
    """The id of a row. An id with a NUL character is not looked up and not shown again."""

    def to_python(self, value: Any) -> Any:
        ProhibitNullCharactersValidator()(value)
        return super().to_python(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        return None if "\0" in str(data) else super().bound_data(data, initial)


def _check_json(text: str) -> None:
    try:
        if _deeper(strict_json(text), MAX_DEPTH):
            raise BadText("nested too deeply")  # noqa: TRY301 # reported like other refusals
    except BadText as refusal:
        place = f"{refusal.place}: " if refusal.place else ""
        raise ValidationError(f"Enter a valid JSON: {place}{refusal.problem}") from refusal


def _deeper(value: Any, levels: int) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(levels == 0 or _deeper(part, levels - 1) for part in parts)
