"""How much of the key may come back through the key proxy: at most the beginning that all keys of a vendor share."""

from __future__ import annotations

import contextlib
import gzip
import json
import zlib
from collections.abc import Callable

import pytest
import requests

from tests.agents.pod.gateway.process import KEY, GatewayProcess
from tests.doubles.provider import ModelVendor, ProviderHandler

pytestmark = pytest.mark.unmeasured

ESCAPED = "".join(f"\\u{ord(character):04x}" for character in KEY)


def shown_of_the_key(text: str) -> int:
    """The length of the longest piece of the key that is in the text."""
    return max(size for size in range(len(KEY) + 1) for at in range(len(KEY) - size + 1) if KEY[at : at + size] in text)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 429, 500])
def test_an_error_that_repeats_the_key_is_masked_everywhere(
    gateway: GatewayProcess, provider: ModelVendor, status: int
) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    provider.answer = lambda handler: handler.whole(status, body)
    answer = gateway.call_model()
    assert KEY not in answer.text
    assert "[secret]" in answer.text
    assert KEY not in gateway.ask("GET", "/health").text
    assert KEY not in gateway.log


def test_an_answer_that_repeats_the_key_is_masked_across_its_pieces(
    gateway: GatewayProcess, provider: ModelVendor
) -> None:
    def spelled(handler: ProviderHandler) -> None:
        handler.begin()
        for letter in f"data: your key is {KEY}\n\n":
            handler.say(letter.encode())
        handler.end()

    provider.answer = spelled
    assert gateway.call_model().text == "data: your key is [secret]\n\n"


def test_a_packed_answer_is_unpacked_and_masked(gateway: GatewayProcess, provider: ModelVendor) -> None:
    packed = gzip.compress(f'{{"key": "{KEY}"}}'.encode())
    provider.answer = lambda handler: handler.whole(200, packed, Content_Encoding="gzip")
    answer = gateway.call_model()
    assert answer.json() == {"key": "[secret]"}
    assert "Content-Encoding" not in answer.headers


def test_a_huge_error_is_cut_off(gateway: GatewayProcess, provider: ModelVendor) -> None:
    provider.answer = lambda handler: handler.whole(500, b"x" * 5_000_000)
    assert len(gateway.call_model().content) <= 64 * 1024


@pytest.mark.parametrize("status", [200, 400, 401, 500])
@pytest.mark.parametrize("spelled", [ESCAPED, ESCAPED.upper().replace("\\U", "\\u"), f"s\\u006b{KEY[2:]}"])
def test_a_key_that_comes_back_escaped_is_masked(
    gateway: GatewayProcess, provider: ModelVendor, status: int, spelled: str
) -> None:
    provider.answer = lambda handler: handler.whole(status, f'{{"error": {{"message": "not {spelled}"}}}}'.encode())
    answer = gateway.call_model()
    assert shown_of_the_key(json.dumps(answer.json())) < 8
    assert "not [secret]" in answer.json()["error"]["message"]


@pytest.mark.parametrize("shown", range(0, len(KEY) + 1, 3))
def test_an_error_that_is_cut_within_the_key_shows_less_than_eight_characters_of_it(
    gateway: GatewayProcess, provider: ModelVendor, shown: int
) -> None:
    body = b"x" * (64 * 1024 - shown) + KEY.encode() + b"x" * 100_000
    provider.answer = lambda handler: handler.whole(500, body)
    answer = gateway.call_model()
    assert len(answer.content) <= 64 * 1024
    assert shown_of_the_key(answer.text) < 8


@pytest.mark.parametrize("shown", range(1, len(KEY) + 1, 3))
def test_a_stream_that_ends_within_the_key_shows_less_than_eight_characters_of_it(
    gateway: GatewayProcess, provider: ModelVendor, shown: int
) -> None:
    def ends(handler: ProviderHandler) -> None:
        handler.begin()
        handler.say(b"data: " + KEY[: shown // 2].encode())
        handler.say(KEY[shown // 2 : shown].encode())
        handler.end()

    provider.answer = ends
    answer = gateway.call_model()
    assert answer.text.startswith("data: ")
    assert shown_of_the_key(answer.text) < 8


def test_a_stream_that_breaks_off_within_the_key_shows_less_than_eight_characters_of_it(
    gateway: GatewayProcess, provider: ModelVendor
) -> None:
    def cut(handler: ProviderHandler) -> None:
        handler.begin()
        handler.say(b"data: " + KEY[:-1].encode())
        handler.cut()

    provider.answer = cut
    heard = b""
    with gateway.call_model(stream=True) as answer, contextlib.suppress(requests.exceptions.ChunkedEncodingError):
        for piece in answer.iter_content(1):
            heard += piece
    assert shown_of_the_key(heard.decode()) < 8


def test_a_key_that_the_provider_itself_cut_short_is_masked(gateway: GatewayProcess, provider: ModelVendor) -> None:
    provider.answer = lambda handler: handler.whole(400, b'{"error": {"message": "bad key %s..."}}' % KEY[:20].encode())
    assert gateway.call_model().json() == {"error": {"message": "bad key [secret]..."}}


def test_a_header_that_is_cut_within_the_key_is_masked(gateway: GatewayProcess, provider: ModelVendor) -> None:
    provider.answer = lambda handler: handler.whole(200, b"{}", X_Echo=f"Bearer {KEY[:-1]}")
    assert gateway.call_model().headers["X-Echo"] == "Bearer [secret]"


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip, gzip", lambda raw: gzip.compress(gzip.compress(raw))),
        ("x-gzip", gzip.compress),
        ("compress", zlib.compress),
        ("br", lambda raw: raw),
        ("zstd", lambda raw: raw),
    ],
)
def test_an_answer_that_cannot_be_unpacked_is_refused(
    gateway: GatewayProcess, provider: ModelVendor, status: int, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    provider.answer = lambda handler: handler.whole(status, pack(KEY.encode()), Content_Encoding=encoding)
    answer = gateway.call_model()
    assert (answer.status_code, answer.json()["error"]["message"][:7]) == (502, "openai ")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_packed_error_is_unpacked_and_masked(gateway: GatewayProcess, provider: ModelVendor, encoding: str) -> None:
    packed = {"gzip": gzip.compress(KEY.encode()), "deflate": zlib.compress(KEY.encode())}[encoding]
    provider.answer = lambda handler: handler.whole(500, packed, Content_Encoding=encoding)
    assert gateway.call_model().text == "[secret]"
