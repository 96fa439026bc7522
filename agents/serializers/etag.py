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
from django.utils.http import parse_etags

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


def is_known(etag: str, if_none_match: str) -> bool:
    """Whether the caller has this answer already. Proxies that compress answers make their ETags weak (`W/"…"`)."""
    known = parse_etags(if_none_match)
    return etag in known or f"W/{etag}" in known or "*" in known


def _decided(agent: Mapping[str, Any]) -> str:
    return _digest({name: value for name, value in agent.items() if name not in MEASURED})


def _digest(value: Any) -> str:
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_UTC_Z)
    return hashlib.sha256(text).hexdigest()[:_DIGITS]
