"""The `ETag` of an agent: `"<what its owner decides>.<all of it>"`.

A reader who sends it in `If-None-Match` is told of any difference. `If-Match` looks at the first part alone: what is
measured, such as the quota, changes each minute and must not stop a change.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import orjson

MEASURED = frozenset(
    {
        *("quota", "quotaStatus", "lastBackupAt", "trialNoticeDay"),
        *("webhookLastStatus", "webhookLastAt", "webhookLastEvent"),
    }
)
_DIGITS = 16
_ETAG = re.compile(rf'(?:W/)?"([0-9a-f]{{{_DIGITS}}})\.[0-9a-f]{{{_DIGITS}}}"')


def etag_of(agent: Mapping[str, Any]) -> str:
    """The ETag of an agent in its JSON form."""
    return f'"{_decided(agent)}.{_digest(agent)}"'


def is_expected(agent: Mapping[str, Any], if_match: str) -> bool:
    """Whether one of the ETags in this header, or `*`, is that of the agent."""
    return if_match.strip() == "*" or _decided(agent) in _ETAG.findall(if_match)


def _decided(agent: Mapping[str, Any]) -> str:
    return _digest({name: value for name, value in agent.items() if name not in MEASURED})


def _digest(value: Any) -> str:
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_UTC_Z)
    return hashlib.sha256(text).hexdigest()[:_DIGITS]
