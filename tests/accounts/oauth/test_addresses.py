"""Addresses of programs are read by us, by libraries and by browsers, and must mean the same to all."""

from __future__ import annotations

import pytest

from accounts.oauth import addresses


@pytest.mark.parametrize(
    "address",
    ["https://program.example/a;b?c=d&e=%20", "http://127.0.0.1:1/", "http://[::1]/back", "HTTPS://PROGRAM.EXAMPLE"],
)
def test_a_usual_address_has_parts(address: str) -> None:
    assert addresses.parts_of(address) is not None


@pytest.mark.parametrize(
    "address",
    [
        "",
        "//program.example/back",
        "ftp://program.example/back",
        "https:///back",
        "https://program.example:/back",
        "https://program.example:0000080/back",
        "https://program.example:99999/back",
        "https://@program.example/back",
        "https://program.example\\.evil.example/back",
        "https://program.example;x/back",
        "https://evil[::1]/back",
        "https://[::1]evil/back",
        "https://[1::2::3]/back",
        "https://program.example/back#",
        "https://program.example/back\n",
        "https://program.example/\u202eback",
        "https://program.example/<back>",
        "https://pro%67ram.example/back",
    ],
)
def test_an_address_that_could_be_read_in_another_way_has_none(address: str) -> None:
    assert addresses.parts_of(address) is None


def test_a_policy_names_the_origin_alone() -> None:
    assert addresses.policy_source("http://127.0.0.1:7777/back?x=y") == "http://127.0.0.1:7777"
    assert addresses.policy_source("http://[::1]:7777/back") == "http:", "policies have no literals of IPv6"
