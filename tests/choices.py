"""A new member of a `TextChoices` while a test runs, as if its line stood in the class."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db.models import TextChoices

Choice = TypeVar("Choice", bound=TextChoices)


@contextmanager
def added(choices: type[Choice], name: str, value: str) -> Iterator[Choice]:
    """The line `NAME = "value"`."""
    member = str.__new__(choices, value)
    member._name_, member._value_, member._label_ = name, value, name.replace("_", " ").title()
    choices._member_names_.append(name)
    choices._member_map_[name] = choices._value2member_map_[value] = member
    try:
        yield member
    finally:
        choices._member_names_.remove(name)
        del choices._member_map_[name], choices._value2member_map_[value]
