"""Answers that our client does not unpack are refused: a secret in them could not be masked."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.llm.headers import check_unpacked

Pairs = list[tuple[str, str]]


def told(pairs: Pairs) -> CIMultiDictProxy[str]:
    return CIMultiDictProxy(CIMultiDict(pairs))


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "Chunked "), ("Content-Encoding", "gzip")],
        [("Content-Encoding", "identity")],
    ],
)
def test_what_is_unpacked_passes(pairs: Pairs) -> None:
    check_unpacked(told(pairs), "openai")


@pytest.mark.parametrize(
    "pairs",
    [
        [("Transfer-Encoding", "gzip, chunked")],
        [("Transfer-Encoding", "gzip"), ("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "deflate")],
        [("Content-Encoding", "br, gzip")],
        [("Content-Encoding", "zstd")],
    ],
)
def test_what_is_not_unpacked_is_refused(pairs: Pairs) -> None:
    with pytest.raises(Refusal) as refused:
        check_unpacked(told(pairs), "openai")
    assert refused.value.status == 502
