"""Column types of the catalog: lists of short texts, and texts whose line ends never change.

The admin edits a list with one text per line. Django's own form for arrays separates by commas, and our labels contain
commas.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models


class LinesFormField(forms.CharField):
    """Turns non-empty lines into a list of trimmed texts. For an optional list, no line at all becomes None."""

    def __init__(self, *, base_field: models.Field[Any, Any], empty: list[str] | None, **kwargs: Any) -> None:
        self.base_field = base_field
        self.empty = empty
        super().__init__(**{"widget": forms.Textarea(attrs={"rows": 4, "cols": 60}), **kwargs})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        lines = [line.strip() for line in str(text).splitlines() if line.strip()]
        problems = [f"{line!r}: {message}" for line in lines for message in self._problems(line)]
        if problems:
            raise ValidationError(problems)
        return lines or self.empty

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial or []), str(data or "").replace("\r\n", "\n").strip())

    def _problems(self, line: str) -> list[str]:
        try:
            self.base_field.clean(line, None)
        except ValidationError as error:
            return error.messages
        return []


class Lines(ArrayField[Any, Any]):
    """An array of texts, edited one text per line."""

    def to_python(self, value: Any) -> Any:
        if value is not None and not isinstance(value, list):
            raise ValidationError("must be a list of texts")
        return super().to_python(value)

    def formfield(self, **kwargs: Any) -> Any:
        empty: list[str] | None = None if self.null else []
        ours = {"base_field": self.base_field, "empty": empty, "show_hidden_initial": False}
        asked = {key: value for key, value in kwargs.items() if key not in {"form_class", "choices_form_class"}}
        return models.Field.formfield(self, form_class=LinesFormField, **{**ours, **asked})


class ParagraphsFormField(forms.CharField):
    """Text with `\
    ` as line end. Browsers send other line ends, and a save without an edit must change nothing.
    """

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return text.replace("\r\n", "\n") if isinstance(text, str) else text


class Paragraphs(models.TextField[Any, Any]):
    """Text of several lines. If it is optional, empty text becomes None."""

    def formfield(self, **kwargs: Any) -> Any:
        empty = None if self.null else ""
        return super().formfield(**{"form_class": ParagraphsFormField, "empty_value": empty, **kwargs})
