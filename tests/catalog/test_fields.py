"""Column types of the catalog in an operator's form."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from catalog.models import Engine, Persona


def field(model: type[Engine] | type[Persona], name: str) -> Any:
    return getattr(model, name).field.formfield()


def test_lists_are_edited_one_text_per_line() -> None:
    does = field(Persona, "does")
    assert does.prepare_value(["Reads, and writes", "Talks"]) == "Reads, and writes\nTalks"
    assert does.clean(" Reads, and writes \r\n\r\nTalks\r\n") == ["Reads, and writes", "Talks"]


def test_an_empty_list_is_nothing_only_where_nothing_has_a_meaning() -> None:
    assert field(Persona, "does").clean("") == []
    assert field(Engine, "toolsets").clean(" \r\n ") is None


def test_every_wrong_line_is_named() -> None:
    with pytest.raises(ValidationError) as refusal:
        field(Engine, "channels").clean("web\nfax\npigeon")
    assert len(refusal.value.messages) == 2
    assert "fax" in refusal.value.messages[0]


def test_line_ends_of_browsers_are_no_change() -> None:
    assert not field(Persona, "does").has_changed(["a", "b"], "a\r\nb\r\n")
    assert field(Persona, "does").has_changed(["a", "b"], "a")
    assert not field(Persona, "soul").has_changed("a\n\nb", "a\r\n\r\nb")
    assert field(Persona, "soul").clean("a\r\nb") == "a\nb"


def test_an_optional_text_left_empty_is_nothing() -> None:
    assert field(Persona, "disclaimer").clean("  ") is None
