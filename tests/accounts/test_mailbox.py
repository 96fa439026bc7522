from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.mailbox import MAX_LENGTH, NotAnAddress, canonical, inbox

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize(
    ("address", "form"),
    [
        ("ann@example.com", "ann@example.com"),
        ("Ann.B+Tag@Example.COM", "ann.b+tag@example.com"),
        ("ann@BÜCHER.example", "ann@xn--bcher-kva.example"),
        ("ann@bu\u0308cher.example", "ann@xn--bcher-kva.example"),
        ("ann@XN--BCHER-KVA.example", "ann@xn--bcher-kva.example"),
        ("ann@ｅｘａｍｐｌｅ.com", "ann@example.com"),
        ("ann@example。com", "ann@example.com"),
        ("ann@почта.рф", "ann@xn--80a1acny.xn--p1ai"),
        ("ann@straße.example", "ann@xn--strae-oqa.example"),
        ("ann@localhost", "ann@localhost"),
        ('"a@b"@example.com', '"a@b"@example.com'),
    ],
)
def test_each_spelling_of_a_mailbox_has_one_form(address: str, form: str) -> None:
    assert canonical(address) == form


@pytest.mark.parametrize(
    "address",
    [
        "",
        "@",
        "a@",
        "@b",
        "a@b..com",
        "a@-b.com",
        "a@b.com.",
        "a@\u00ad.com",
        "a@..",
        "a b@c.com",
        "a@b@c.com",
        '"\x01"@c.com',
        "a@☃\u200d.com",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(NotAnAddress):
        canonical(address)


@given(st.emails())
def test_every_ordinary_address_has_a_form_that_is_its_own_form(address: str) -> None:
    form = canonical(address)
    assert canonical(form) == form
    assert canonical(address.upper()) == form


@given(st.text() | st.builds("{}@{}.com".format, st.text(), st.text()))
def test_whatever_comes_gives_plain_ascii_or_a_refusal(address: str) -> None:
    try:
        form = canonical(address)
    except NotAnAddress:
        return
    assert form.isascii()
    assert form.isprintable()
    assert form == form.lower()
    assert len(form) <= MAX_LENGTH


@pytest.mark.parametrize(
    ("address", "lands_in"),
    [
        ("ann@example.com", "ann@example.com"),
        ("ann+shop@example.com", "ann@example.com"),
        ("ann+a+b@example.com", "ann@example.com"),
        ("a.n.n@example.com", "a.n.n@example.com"),
        ("+ann@example.com", "+ann@example.com"),
        ("a.n.n+x@gmail.com", "ann@gmail.com"),
        ("ann@googlemail.com", "ann@gmail.com"),
        ('"a@b+c"@example.com', "a@b@example.com"),
        ('"ann"@example.com', "ann@example.com"),
        (r'"\a\n\n"@example.com', "ann@example.com"),
        ('"a.n.n+x"@gmail.com', "ann@gmail.com"),
        (r'"an\"n"@example.com', 'an"n@example.com'),
    ],
)
def test_addresses_of_one_mailbox_land_together(address: str, lands_in: str) -> None:
    assert inbox(address) == lands_in
