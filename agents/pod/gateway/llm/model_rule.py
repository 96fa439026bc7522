"""Only the configured model is called: engines ask others for titles and recaps that nobody wanted to pay for."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

from agents.pod.gateway.answers import Refusal

_GOOGLE = re.compile(r".*/models/([^/]+):[A-Za-z]+")


def check_path(rest: str, allowed: str | None) -> None:
    """Google names the model in the path: `/v1beta/models/<model>:streamGenerateContent`."""
    found = _GOOGLE.fullmatch(rest)
    if found:
        _check(unquote(found[1]), allowed)


def check_body(raw: bytes, *, is_json: bool, allowed: str | None) -> None:
    """All others name it in the JSON body, some with a list of others to fall back on."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        if is_json:
            raise Refusal(400, "body: not valid JSON") from error
        return
    if not isinstance(body, dict):
        return
    fallbacks = body.get("models")
    for named in (body.get("model"), *(fallbacks if isinstance(fallbacks, list) else [])):
        _check(named, allowed)


def _check(named: Any, allowed: str | None) -> None:
    if named is None or allowed is None:
        return
    if not isinstance(named, str) or named.removeprefix("models/") != allowed:
        raise Refusal(400, f"model: this agent is configured for {allowed!r} alone")
