"""What one setting is: its type, its limits, and the one function that reads its text from wherever it comes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, Generic, TypeVar, overload
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config import env
from config.operator_settings.values import values

Value = TypeVar("Value")

MOST_DAYS = 100_000  # a date must not go beyond the year 9999
MOST = 1_000_000_000  # a number is also sent to PostgreSQL, as a limit of rows


class Entry(Enum):
    """How an operator enters the value."""

    NUMBER = "number"
    ON_OR_OFF = "on or off"
    CHOICE = "choice"
    LINE = "line"
    LIST = "list"
    SECRET = "secret"  # noqa: S105 # typed, and never shown again


class Setting(Generic[Value]):
    """A setting. As an attribute of `operator_settings` it gives the value that holds now."""

    def __init__(
        self,
        group: str,
        default: str,
        help: str,
        *,
        read: Callable[[str, str], Value],
        entry: Entry,
        unit: str = "",
        choices: tuple[str, ...] = (),
        check: Callable[[Value], None] | None = None,
    ) -> None:
        self.name = ""
        self.group, self.default, self.help, self.unit = group, default, help, unit
        self.entry, self.choices = entry, choices
        self.looks = ""  # the form of a credential, in words
        # What only operators' values must fulfil. Apps add theirs. They raise ImproperlyConfigured too.
        self.checks: list[Callable[[Value], None]] = [check] if check else []
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> Setting[Value] | Value:
        if instance is None:
            return self
        chosen = values.current()
        value: Value = chosen[self.name] if self.name in chosen else self.of_environment()
        return value

    def of_environment(self) -> Value:
        """The value that holds if no operator chose one: of the variable as it was at the start, else the default."""
        value: Value = getattr(settings, self.name)
        return value

    @property
    def is_credential(self) -> bool:
        """Whether the value is a secret: encrypted in the database, never shown, and not in the history."""
        return self.entry is Entry.SECRET

    def read(self, text: str | None) -> Value:
        """The value that the text stands for; None is a credential that cannot be decrypted.

        Raises ImproperlyConfigured, which names the setting.
        """
        if text is None:
            raise ImproperlyConfigured(f"{self.name} cannot be decrypted: its encryption key is lost; set it again")
        return self._read(self.name, text)

    def check(self, text: str) -> None:
        """Raise ImproperlyConfigured unless an operator may choose the value."""
        value = self.read(text)
        for check in self.checks:
            check(value)

    def first(self) -> Value:
        """Read the value of the environment variable, else the default."""
        given = env.secret if self.is_credential else env.text
        return self.read(given(self.name, self.default))


def as_text(value: Any) -> str:
    """The text that is read as this value."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, dict):
        return ",".join(f"{name}={one}" for name, one in value.items())
    return ",".join(value) if isinstance(value, list) else str(value)


def number(group: str, default: int, unit: str, help: str, *, at_least: int = 0, at_most: int = MOST) -> Setting[int]:
    read = partial(env.read_number, at_least=at_least, at_most=at_most)
    return Setting(group, str(default), help, read=read, entry=Entry.NUMBER, unit=unit)


def days(group: str, default: int, help: str, *, at_least: int = 0) -> Setting[int]:
    return number(group, default, "days", help, at_least=at_least, at_most=MOST_DAYS)


def flag(group: str, default: bool, help: str) -> Setting[bool]:
    return Setting(group, as_text(default), help, read=env.read_flag, entry=Entry.ON_OR_OFF)


def one_of(group: str, default: str, help: str, *, allowed: tuple[str, ...]) -> Setting[str]:
    read = partial(env.read_one_of, allowed=allowed)
    return Setting(group, default, help, read=read, entry=Entry.CHOICE, choices=allowed)


def positive(group: str, default: str, unit: str, help: str) -> Setting[Decimal]:
    return Setting(group, default, help, read=env.read_positive, entry=Entry.LINE, unit=unit)


def line(
    group: str,
    help: str,
    *,
    read: Callable[[str, str], str] = lambda _, text: text,
    check: Callable[[str], None] | None = None,
) -> Setting[str]:
    return Setting(group, "", help, read=read, entry=Entry.LINE, check=check)


def words(group: str, help: str) -> Setting[list[str]]:
    return Setting(group, "", help, read=env.read_words, entry=Entry.LIST)


def pairs(
    group: str, help: str, *, read: Callable[[str, str], dict[str, str]] = env.read_pairs
) -> Setting[dict[str, str]]:
    return Setting(group, "", help, read=read, entry=Entry.LIST)


def country(name: str, text: str) -> str:
    if text and not (len(text) == 2 and text.isascii() and text.isalpha()):
        raise ImproperlyConfigured(f"{name}={text!r} must be two letters, such as DE")
    return text.upper()


def email(name: str, text: str) -> str:
    before, _, after = text.partition("@")
    if text and (not before or not after or len(text.split()) > 1):
        raise ImproperlyConfigured(f"{name}={text!r} must be an e-mail address")
    return text


def url(name: str, text: str) -> str:
    if text and not is_url(text):
        raise ImproperlyConfigured(f"{name}={text!r} must begin with https:// or http://")
    return text


def urls(name: str, text: str) -> dict[str, str]:
    found = env.read_pairs(name, text)
    for one in found.values():
        url(name, one)
    return found


def is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        is_whole = bool(parts.hostname) and parts.port != 0  # reading a wrong port raises
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and is_whole and text.isprintable() and " " not in text
