from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Callable
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pod.masking import MASK, MaskingFormatter, StreamMask, mask_text, secrets_of
from agents.runtimes.base import PodConfig

pytestmark = pytest.mark.unmeasured

SECRET = "sk-abc/def-0123"


@pytest.mark.parametrize(
    "spelling",
    [
        SECRET,
        "sk-abc%2Fdef-0123",
        "sk-abc%2fdef-0123",
        "sk-abc\\/def-0123",
        "\\u0073k-abc\\u002Fdef-0123",
        "%73k%2Dabc%2fdef-012\\u0033",
    ],
)
def test_a_secret_is_masked_in_every_spelling(spelling: str) -> None:
    assert mask_text(f"key {spelling}.", [SECRET]) == f"key {MASK}."


@pytest.mark.parametrize(
    ("secret", "spelling"),
    [
        ('pass"word-123', 'pass\\"word-123'),
        ("pass\\word-123", "pass\\\\word-123"),
        ("pass\nword\t123", "pass\\nword\\t123"),
        ("pass-ключ-123", "pass-\\u043a\\u043b\\u044E\\u0447-123"),
        ("pass-ключ-123", "pass-%D0%BA%d0%bb%D1%8E%D1%87-123"),
        ("pass-🗝-word", "pass-\\ud83d\\uDDDD-word"),
        ("pass-🗝-word", "pass-%F0%9F%97%9D-word"),
    ],
)
def test_a_secret_is_masked_as_json_and_urls_spell_it(secret: str, spelling: str) -> None:
    for shown in (secret, spelling):
        assert mask_text(f"key {shown}.", [secret]) == f"key {MASK}."


def test_an_escaped_backslash_is_one_character_of_a_secret_that_a_text_cuts_off() -> None:
    assert mask_text("login DOMAIN\\\\us", ["DOMAIN\\user-password"]) == f"login {MASK}"


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_a_secret_is_masked_across_chunks_of_any_size(size: int) -> None:
    text = f"a {SECRET} b sk-abc/de {SECRET}{SECRET} sk-".encode()
    mask = StreamMask([SECRET])
    masked = b"".join(mask.feed(text[at : at + size]) for at in range(0, len(text), size)) + mask.finish()
    assert masked.decode() == f"a {MASK} b sk-abc/de {MASK}{MASK} sk-"


def test_what_cannot_begin_a_secret_is_not_held_back() -> None:
    mask = StreamMask([SECRET])
    assert mask.feed(b"data: hello\n\n") == b"data: hello\n\n"
    assert mask.feed(b"data: sk-ab") == b"data: "
    assert mask.feed(b"solute\n\n") == b"sk-absolute\n\n"


@pytest.mark.parametrize(("held", "pieces"), [(255, 1), (256, 37), (257, 37), (259, 37), (260, 38)])
def test_more_than_256_held_bytes_are_looked_at_again_when_an_eighth_of_them_is_new(held: int, pieces: int) -> None:
    mask = StreamMask(["a" * 1000])
    assert mask.feed(b"a" * held) == b""
    shown = [mask.feed(b"-") for _ in range(pieces)]
    assert shown == [b""] * (pieces - 1) + [MASK.encode() + b"-" * pieces]


@pytest.mark.parametrize("spelling", ["ü", "\\u00fc", "\\u00FC", "%c3%bc"])
def test_a_chunk_may_end_anywhere_in_the_first_character_of_a_secret(spelling: str) -> None:
    text = f"{spelling}ber-secret".encode()
    for cut in range(1, len(spelling.encode())):
        mask = StreamMask(["über-secret"])
        assert mask.feed(text[:cut]) == b""
        assert mask.feed(text[cut:]) + mask.finish() == MASK.encode()


@pytest.mark.parametrize("end", ["%6", "%73", "\\u006", "\\t"])
def test_an_end_in_a_character_that_does_not_begin_the_secret_is_not_held_back(end: str) -> None:
    assert StreamMask(["xtse-secret"]).feed(f"100{end}".encode()) == f"100{end}".encode()


def test_log_lines_and_their_tracebacks_are_masked() -> None:
    formatter = MaskingFormatter(lambda: [SECRET])
    with pytest.raises(ValueError, match="sk-") as raised:
        int(SECRET)
    failure = (raised.type, raised.value, raised.tb)
    record = logging.LogRecord("gateway", logging.ERROR, __file__, 1, "with %s", (SECRET,), failure)
    shown = formatter.format(record)
    assert SECRET not in shown
    assert f"ERROR gateway with {MASK}" in shown


@pytest.mark.parametrize(("secret", "shown"), [("abcde", "an abcde in a text"), ("abcdef", f"an {MASK} in a text")])
def test_a_secret_has_at_least_six_characters(secret: str, shown: str) -> None:
    assert mask_text(f"an {secret} in a text", [secret]) == shown


@pytest.mark.parametrize("key", ["", "0", "test", "EMPTY"])
def test_a_key_that_is_no_secret_does_not_break_what_it_stands_in(key: str) -> None:
    """A model server that accepts any key gets `0`, and its answers are full of zeros."""
    answer = '{"choices": [{"index": 0, "delta": {"content": "a test of EMPTY words"}}]}'
    assert mask_text(answer, [key]) == answer
    mask = StreamMask([key])
    assert mask.feed(answer.encode()) + mask.finish() == answer.encode()


SPELLED: dict[str, Callable[[str], str]] = {
    "plain": lambda character: character,
    "json": lambda character: f"\\u{ord(character):04x}",
    "JSON": lambda character: f"\\u{ord(character):04X}",
    "url": lambda character: f"%{ord(character):02X}",
}
KEY = "sk-proj-Zq7kP2mVx9Lw4Rt6Yb1Nc8Hd"
TEXT = st.text(alphabet="sk-projZq %\\u0", max_size=20)


@pytest.mark.sampled
@given(
    before=TEXT,
    after=TEXT,
    spellings=st.lists(st.sampled_from(sorted(SPELLED)), min_size=len(KEY), max_size=len(KEY)),
    cuts=st.lists(st.integers(0, 400), max_size=6),
    end=st.integers(0, 400),
)
def test_wherever_a_text_with_the_key_is_cut_less_than_eight_characters_of_it_are_shown(
    before: str, after: str, spellings: list[str], cuts: list[int], end: int
) -> None:
    """The text comes in pieces of any size and ends anywhere, and the key is spelled in any mix."""
    spelled = "".join(SPELLED[name](character) for name, character in zip(spellings, KEY, strict=True))
    text = f"{before}{spelled}{after}"[:end].encode()
    marks = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    mask = StreamMask([KEY])
    masked = b"".join(mask.feed(text[start:stop]) for start, stop in itertools.pairwise(marks)) + mask.finish()
    readable = unquote(re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), masked.decode()))
    assert not [KEY[at : at + 8] for at in range(len(KEY) - 7) if KEY[at : at + 8] in readable]


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=5))
def test_what_holds_no_secret_passes_unchanged(text: bytes, cuts: list[int]) -> None:
    marks = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    mask = StreamMask([KEY])
    assert b"".join(mask.feed(text[a:b]) for a, b in itertools.pairwise(marks)) + mask.finish() == text


@pytest.mark.parametrize(("shown", "masked"), [(7, False), (8, True), (31, True)])
def test_a_text_that_ends_within_a_secret_shows_its_first_characters_at_most(shown: int, masked: bool) -> None:
    assert (mask_text(f"key {KEY[:shown]}", [KEY]) == f"key {MASK}") is masked


def test_what_all_keys_of_a_vendor_begin_with_is_no_secret_before_other_text() -> None:
    assert mask_text("Keys begin with sk-proj-, always.", [KEY]) == "Keys begin with sk-proj-, always."
    assert mask_text(f"Key {KEY[:20]}... is bad", [KEY]) == f"Key {MASK}... is bad"


@pytest.mark.parametrize(("length", "shown"), [(15, KEY[:15]), (16, MASK), (31, MASK)])
def test_of_a_key_that_another_program_cut_off_fifteen_characters_are_shown_at_most(length: int, shown: str) -> None:
    text = f"{KEY[:length]}... is bad, and so is {KEY[:length]}!"
    assert mask_text(text, [KEY]) == f"{shown}... is bad, and so is {shown}!"


def test_of_two_secrets_the_longer_one_is_masked_as_a_whole_wherever_it_contains_the_other() -> None:
    assert mask_text("key a-hidden-b.", ["hidden", "a-hidden-b"]) == f"key {MASK}."
    assert mask_text("key a-hidden-b.", ["a-hidden-b", "hidden"]) == f"key {MASK}."


def test_several_secrets_are_masked_beside_each_other() -> None:
    longer = f"{KEY}-longer"
    assert mask_text(f"{longer} {KEY}{SECRET}", [KEY, SECRET, longer]) == f"{MASK} {MASK}{MASK}"


def test_a_secret_that_repeats_itself_is_masked_in_pieces() -> None:
    secret, text = "abababab", b"xababababababx"
    for at in range(len(text)):
        mask = StreamMask([secret])
        masked = mask.feed(text[:at]) + mask.feed(text[at:]) + mask.finish()
        assert b"abababab" not in masked


def test_the_secrets_of_a_pod_are_those_of_its_channels_and_of_its_tool_servers() -> None:
    config = PodConfig(
        revision=1, soul="", extra_soul=None, lang="en", timezone=None, name="Ann", provider=None, model=None,
        toolsets=[], channels=["telegram"], channel_secrets={"telegram": "1:bot-token"}, a2a_enabled=False,
        mcp_servers=[
            {"name": "files", "command": "npx", "args": ["files"], "env": {"FILES_KEY": "env-secret"}},
            {"name": "search", "url": "https://search.example.com", "headers": {"X-Key": "header-secret"}},
        ],
    )  # fmt: skip
    assert secrets_of(config) == ["1:bot-token", "env-secret", "header-secret"]


NAMED = "sk-secret-of-a-channel"


@pytest.mark.sampled
@given(
    other=st.text("abcdefghijklmnopqrstuvwxyz-", min_size=8, max_size=12),
    before=st.sampled_from(["", "the key is ", "-"]),
    after=st.sampled_from(["", " and more", "\n", "l", "el-sk"]),
    cut=st.integers(0, 60),
)
def test_a_secret_is_masked_whatever_the_others_begin_with(other: str, before: str, after: str, cut: int) -> None:
    text = (before + NAMED + after + other[:5]).encode()
    mask = StreamMask([other, NAMED])
    shown = mask.feed(text[:cut]) + mask.feed(text[cut:]) + mask.finish()
    assert NAMED.encode() not in shown


def test_a_secret_that_ends_as_another_begins_is_masked_at_the_end_of_a_text() -> None:
    assert mask_text(f"died of {NAMED}", [NAMED, "l9hGtGOZBaZm7-nLTnYSK9xtE4s3Fir3"]) == f"died of {MASK}"


def test_a_truncated_secret_whose_end_begins_it_anew_is_masked_wherever_a_chunk_ends() -> None:
    secret = "sk-live-abcdesk-fghijklmnop"
    text = b"token sk-live-abcdesk-lx, and more"
    for cut in range(len(text)):
        mask = StreamMask([secret])
        shown = mask.feed(text[:cut]) + mask.feed(text[cut:]) + mask.finish()
        assert b"sk-live-abcde" not in shown, cut
    mask = StreamMask([secret])
    whole = b"sk-live-abcde" + secret.encode()
    assert b"ghijkl" not in mask.feed(whole[:16]) + mask.feed(whole[16:]) + mask.finish()
