from __future__ import annotations

import pytest
from multidict import CIMultiDict

from agents.pod.gateway.masked_headers import masked

KEY = "sk-Proj_Zq7kP2mVx9Lw4Rt6"


@pytest.mark.parametrize("name", [f"X-{KEY}", KEY.lower(), f"x-{KEY.upper()}-y", KEY[:20]])
def test_a_header_whose_name_has_a_secret_is_left_out(name: str) -> None:
    headers = CIMultiDict({name: "1", "X-Kept": "2"})
    assert list(masked(headers, [KEY])) == [("X-Kept", "2")]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f"a {KEY} b", "a [secret] b"),
        (f"{KEY[:9]} {KEY[9:]}", "[secret]"),
        (f"{KEY[:9]}\t  {KEY[9:15]} {KEY[15:]}", "[secret]"),
        (f"a {KEY}, {KEY[:9]} {KEY[9:]}", "[secret]"),
        ("Tue, 01 Dec 2026 10:00:00 GMT", "Tue, 01 Dec 2026 10:00:00 GMT"),
    ],
)
def test_a_value_is_masked_also_where_it_was_folded(value: str, shown: str) -> None:
    assert list(masked(CIMultiDict({"X-A": value}), [KEY])) == [("X-A", shown)]
