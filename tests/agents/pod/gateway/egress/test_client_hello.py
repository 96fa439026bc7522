"""The name that a TLS client asks for is read from its first message, however it is cut."""

from __future__ import annotations

import ssl
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pod.gateway.egress import client_hello
from agents.pod.gateway.egress.client_hello import IncompleteError


def hello(name: str | None) -> bytes:
    """The first message of OpenSSL."""
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def in_records(message: bytes, size: int) -> bytes:
    """The same message in records of this size."""
    body = message[5:]
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"\x16\x03\x01" + len(piece).to_bytes(2, "big") + piece for piece in pieces)


def test_the_name_is_read_also_from_many_records() -> None:
    whole = hello("Example.COM")
    assert client_hello.server_name(whole) == "example.com"
    for size in (1, 7, 100):
        assert client_hello.server_name(in_records(whole, size)) == "example.com"


def test_a_client_that_names_nobody_is_told() -> None:
    assert client_hello.server_name(hello(None)) is None


def test_every_part_of_a_message_is_incomplete() -> None:
    whole = hello("example.com")
    for end in range(len(whole)):
        with pytest.raises(IncompleteError):
            client_hello.server_name(whole[:end])


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_a_fault(data: bytes) -> None:
    with suppress(IncompleteError):
        client_hello.server_name(b"\x16" + data)
