"""Who uses a persona. Those who do say so here when their app starts, for the catalog knows nothing of them."""

from __future__ import annotations

from collections.abc import Callable

InUse = Callable[[str], bool]

_users: dict[str, InUse] = {}


def register(name: str, in_use: InUse) -> None:
    """`in_use(persona_id)` tells whether there are any of `name`, such as agents, that have the persona."""
    _users[name] = in_use


def of(persona_id: str) -> list[str]:
    """What uses the persona, by name."""
    return [name for name, in_use in _users.items() if in_use(persona_id)]
