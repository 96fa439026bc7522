"""Settings that are credentials of payment providers. No error repeats such a value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config import env
from config.operator_settings.setting import Entry, Setting, Value, is_url

_PLAIN = re.compile(r"[!-~]+")  # what a header of HTTP can carry


def credential(group: str, help: str, *, form: str = "", looks: str = "") -> Setting[str]:
    """One secret. An operator's one must match `form`; `looks` says so in words."""
    return _secret(group, help, read=lambda _, text: text, each=lambda text: [text], form=form, looks=looks)


def credentials(group: str, help: str, *, form: str = "", looks: str = "") -> Setting[list[str]]:
    """Several secrets with commas between them."""
    return _secret(group, help, read=env.read_words, each=list, form=form, looks=looks)


def nodes(group: str, help: str) -> Setting[list[str]]:
    """Addresses of nodes, which often hold a key."""
    return _addresses(group, help, read=env.read_words, each=list)


def nodes_of_chains(group: str, help: str) -> Setting[dict[int, str]]:
    return _addresses(group, help, read=env.chains, each=lambda known: list(known.values()))


def _addresses(
    group: str, help: str, *, read: Callable[[str, str], Value], each: Callable[[Any], list[str]]
) -> Setting[Value]:
    return _secret(
        group, help, read=read, each=each, fits=is_url, looks="each must be an address with https:// or http://"
    )


def _secret(
    group: str,
    help: str,
    *,
    read: Callable[[str, str], Value],
    each: Callable[[Any], list[str]],
    form: str = "",
    fits: Callable[[str], bool] | None = None,
    looks: str,
) -> Setting[Value]:
    matches = re.compile(form or ".+").fullmatch
    right = fits or (lambda text: bool(matches(text)))
    setting = Setting(group, "", help, read=read, entry=Entry.SECRET)
    setting.looks = looks

    def check(value: Value) -> None:
        found = each(value)
        if not found or not all(found):
            raise ImproperlyConfigured(f"{setting.name} must not be empty; remove it instead")
        if not all(map(_PLAIN.fullmatch, found)):
            raise ImproperlyConfigured(f"{setting.name} must be visible ASCII characters without spaces")
        if not all(map(right, found)):
            raise ImproperlyConfigured(f"{setting.name}: {looks}")

    setting.checks.append(check)
    return setting
