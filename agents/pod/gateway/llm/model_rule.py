"""Only the configured model is called: engines ask others for titles and recaps that nobody wanted to pay for."""

from __future__ import annotations

import re
from typing import Any

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.llm.outline import Outline, OutlineError

_GOOGLE = re.compile(r".*/models/([^/]+):[A-Za-z]+")
# Where all others name it; some take a list of others to fall back on.
_NAMES = ("model", "models")


def check_path(path: str, allowed: str | None) -> bool:
    """Whether the path names the model, as Google's do: `/v1beta/models/<model>:streamGenerateContent`.

    Raises Refusal when it names another than the configured one.
    """
    found = _GOOGLE.fullmatch(path)
    if found:
        _check(found[1], allowed)
    return found is not None


class BodyRule:
    """Judges a JSON body as it streams by. Raises Refusal; `finish` is due before the last piece goes out."""

    def __init__(self, allowed: str | None, *, must_name: bool = True) -> None:
        """`must_name` is whether a body without a model is refused: the path does not name one."""
        self._allowed = allowed
        self._must_name = must_name
        self._outline = Outline(_NAMES)

    def feed(self, piece: bytes) -> None:
        try:
            self._outline.feed(piece)
        except OutlineError as error:
            raise Refusal(400, str(error)) from error

    def finish(self) -> None:
        try:
            values = self._outline.finish()
        except OutlineError as error:
            raise Refusal(400, str(error)) from error
        check_names(values.get("model"), values.get("models"), allowed=self._allowed, must_name=self._must_name)


def check_names(model: Any, fallbacks: Any, *, allowed: str | None, must_name: bool) -> None:
    """What a body has under `model` and `models`. A stored prompt or an account's default would name another."""
    if must_name and model is None and not fallbacks and allowed is not None:
        raise Refusal(400, f"model: missing; this agent is configured for {allowed!r} alone")
    if fallbacks is not None and not isinstance(fallbacks, list):
        raise Refusal(400, "models: must be a list")
    for named in (model, *(fallbacks or [])):
        _check(named, allowed)


def _check(named: Any, allowed: str | None) -> None:
    if named is None or allowed is None:
        return
    if not isinstance(named, str) or named.removeprefix("models/") != allowed:
        raise Refusal(400, f"model: this agent is configured for {allowed!r} alone")
