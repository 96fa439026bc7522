"""Headers of brokered requests and answers: which a secret may use, which are passed on, and which are not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from multidict import CIMultiDict, CIMultiDictProxy

from agents.pod import hop_by_hop
from agents.pod.gateway.egress.rules import BrokeredSecret
from agents.pod.gateway.masked_headers import masked

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
# The connection itself sets these.
_FRAMING = {"content-length", "expect", "host", "http2-settings"}
_UNSETTABLE = {*hop_by_hop.CONNECTION, *_FRAMING, "accept-encoding", "content-encoding", "content-type", "range"}
# Would lead the client past this proxy.
_NOT_RETURNED = {"alt-svc"}
# Not true any more of an answer that was unpacked and masked.
_CHANGED = {"content-encoding", "content-length", "content-md5", "digest", "content-digest", "repr-digest"}


def is_settable(name: str) -> bool:
    """Whether a secret may be sent in a header of this name."""
    return bool(_NAME.fullmatch(name)) and plain(name) not in _UNSETTABLE and not plain(name).startswith("proxy-")


def outgoing(headers: CIMultiDictProxy[str], secrets: Iterable[BrokeredSecret]) -> CIMultiDict[str]:
    """The engine's headers with these secrets. A header of the same name that the engine has sent is left out, also
    with `_` for `-`, which some servers take for the same.
    """
    added = {plain(secret.header): secret for secret in secrets}
    dropped = {*hop_by_hop.names_in(headers), *_FRAMING}
    kept = CIMultiDict(
        (name, value)
        for name, value in headers.items()
        if name.lower() not in dropped and plain(name) not in added and not name.lower().startswith("proxy-")
    )
    if added:
        kept["Accept-Encoding"] = "identity"  # a packed answer could not be masked
    for secret in added.values():
        kept[secret.header] = secret.value
    return kept


def incoming(headers: CIMultiDictProxy[str], clear: list[str], *, is_changed: bool, has_body: bool) -> CIMultiDict[str]:
    """The host's headers, without the secrets in `clear`. `is_changed`: the body is unpacked and masked."""
    dropped = {*hop_by_hop.names_in(headers), *_NOT_RETURNED, *(_CHANGED if is_changed and has_body else ())}
    shown = masked(headers, clear) if clear else headers.items()
    return CIMultiDict((name, value) for name, value in shown if name.lower() not in dropped)


def plain(name: str) -> str:
    """The name as servers compare it: some take `_` for `-`."""
    return name.lower().replace("_", "-")
