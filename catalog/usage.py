"""What uses a persona. Other apps register here at their start, because the catalog does not import them."""

from __future__ import annotations

from collections.abc import Callable

InUse = Callable[[str], bool]

_users: dict[str, InUse] = {}


def register(name: str, in_use: InUse) -> None:
    """Register a user of personas. `in_use(persona_id)` says whether any `name`, such as agents, use the persona."""
    _users[name] = in_use


def of(persona_id: str) -> list[str]:
    """The registered names, such as agents, that use the persona."""
    return [name for name, in_use in _users.items() if in_use(persona_id)]
