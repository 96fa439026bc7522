"""Allows calls to the configured model only. Engines call other models for titles and summaries, and no owner agreed to
pay for these.
"""

from __future__ import annotations

import re
from typing import Any

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.llm.outline import Outline, OutlineError

_GOOGLE = re.compile(r".*/models/([^/]+):[A-Za-z]+")
# Where all other vendors name the model. Some also accept a list of other models as a fallback.
_NAMES = ("model", "models")
# How vendors name the most tokens of an answer. Google names it deeper, where it is not looked for.
_MOST_OUTPUT = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def check_path(path: str, allowed: str | None) -> bool:
    """Whether the path names the model, as Google's paths do: `/v1beta/models/<model>:streamGenerateContent`.
    Raises Refusal if it names another model than the configured one.
    """
    found = _GOOGLE.fullmatch(path)
    if found:
        _check(found[1], allowed)
    return found is not None


class BodyRule:
    """Checks a JSON body while it streams by. Raises Refusal. Call `finish` before the last piece is sent."""

    def __init__(self, allowed: str | None, *, must_name: bool = True) -> None:
        """`must_name` says whether a body without a model is refused. It is true if the path does not
        name the model.
        """
        self._allowed = allowed
        self._must_name = must_name
        self._outline = Outline((*_NAMES, *_MOST_OUTPUT))
        self.most_output: int | None = None  # known at the end

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
        self.most_output = max((value for name in _MOST_OUTPUT if type(value := values.get(name)) is int), default=None)
        check_names(values.get("model"), values.get("models"), allowed=self._allowed, must_name=self._must_name)


def check_names(model: Any, fallbacks: Any, *, allowed: str | None, must_name: bool) -> None:
    """Check the values of `model` and `models` in a body. Without a name, a stored prompt or an account's default could
    choose another model. Raises Refusal.
    """
    if must_name and model is None and not fallbacks and allowed is not None:
        raise Refusal(400, f"model: missing; this agent is configured only for {allowed!r}")
    if fallbacks is not None and not isinstance(fallbacks, list):
        raise Refusal(400, "models: must be a list")
    for named in (model, *(fallbacks or [])):
        _check(named, allowed)


def _check(named: Any, allowed: str | None) -> None:
    if named is None or allowed is None:
        return
    if not isinstance(named, str) or named.removeprefix("models/") != allowed:
        raise Refusal(400, f"model: this agent is configured only for {allowed!r}")
