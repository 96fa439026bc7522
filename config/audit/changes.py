"""What a form or a step changed, in words: fields with their old and new values. Secrets are never shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model, QuerySet
from django.forms.models import BaseInlineFormSet

from config.audit.log import Change
from config.crypto import is_encrypted

HIDDEN = "••••••"
SECRET = re.compile(r"passw|secret|token|credential|kubeconfig|(^|[_ ])keys?([_ ]|$)|digest|sealed", re.IGNORECASE)


def of_form(form: Any, *, added: bool = False) -> list[Change]:
    """The fields that the form changed; of a new row, the fields that are not empty."""
    named = [name for name in form.changed_data if name in form.fields] or list(form.changed_data)
    found = []
    for name in named:
        if is_secret(name, form):
            found.append((_words(name), "" if added else HIDDEN, HIDDEN))
            continue
        before, after = in_words(_before(form, name)), in_words(form.cleaned_data.get(name))
        if before != after:
            found.append((_words(name), "" if added else before, after))
    return found


def of_formsets(formsets: Iterable[BaseInlineFormSet[Any, Any, Any]]) -> Iterator[Change]:
    """The changes of the rows that a page edits beside its own, each named by its row."""
    for formset in formsets:
        for form in formset.forms:
            if form.has_changed():
                row = str(form.instance)
                yield from ((f"{row}: {name}", before, after) for name, before, after in of_form(form))


def of_cells(before: Mapping[str, str], after: Mapping[str, str]) -> list[Change]:
    """What a step's page showed of a row, before and after. An empty `after` means that the row is gone."""
    return [(name, was, after.get(name, "")) for name, was in before.items() if was != after.get(name, "")]


def of_fields(fields: Mapping[str, Any], *, but: Iterable[str]) -> list[Change]:
    """What an operator typed into a step's form, except these fields."""
    typed = {name: value for name, value in fields.items() if name not in but and value not in (None, "")}
    return [(_words(name), "", HIDDEN if SECRET.search(name) else in_words(value)) for name, value in typed.items()]


def is_secret(name: str, form: forms.BaseForm) -> bool:
    """Whether the field's value must not be shown: an encrypted column, a field that hides it, or a secret's name."""
    if SECRET.search(name) or getattr(getattr(form.fields.get(name), "widget", None), "input_type", "") == "password":
        return True
    try:
        return is_encrypted(form.instance._meta.get_field(name))  # type: ignore[attr-defined]  # noqa: SLF001
    except (AttributeError, FieldDoesNotExist):
        return False


def in_words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(value, QuerySet | list | tuple | set):
        return ", ".join(sorted(in_words(one) for one in value))
    return str(value)


def _before(form: forms.ModelForm[Any], name: str) -> Any:
    """The old value. Of a reference to another row, that row, as in the new value."""
    value, asked = form.initial.get(name), form.fields.get(name)
    if not isinstance(asked, forms.ModelChoiceField) or isinstance(value, Model | QuerySet | list | None):
        return value
    if asked.queryset is None:
        return value
    return asked.queryset.filter(**{asked.to_field_name or "pk": value}).first() or value


def _words(name: str) -> str:
    return name.replace("_", " ")
