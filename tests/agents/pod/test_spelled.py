"""Finding a secret in a text, compared with a slow model of the rule, and how the work grows with the text."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pod import masking
from agents.pod.masking import MASK, StreamMask, mask_text

pytestmark = pytest.mark.unmeasured

# Characters that are parts of escapes have several readings in one text.
CHARACTERS = 'ab\\%25u0c"/é🗝'


def spelled_ways(character: str) -> list[str]:
    """As it is, as JSON escapes it in short and at length, and as a URL encodes it."""
    in_json = json.dumps(character)[1:-1]
    in_url = "".join(f"%{byte:02x}" for byte in character.encode())
    return [character, in_json, "\\/" if character == "/" else in_json, f"\\u{ord(character):04x}", in_url]


class Reading:
    """The model: it tries every way to read the secret at a place, one after the other."""

    def __init__(self, secret: str, text: str) -> None:
        self.secret, self.text = secret, text

    def ends(self, at: int, count: int = 0) -> Iterator[tuple[int, int]]:
        """After how many characters of the secret which places are reached. -1 instead of a place: the text ends before
        the next character is complete.
        """
        if count == len(self.secret):
            yield count, at
            return
        rest = self.text[at:]
        ways = [way.encode("utf-8", "surrogatepass") for way in spelled_ways(self.secret[count])]
        raw = rest.encode("utf-8", "surrogatepass").lower()
        if any(way.startswith(raw) and way != raw for way in ways):
            yield count, -1
        yield count, at
        for way in {way for way in spelled_ways(self.secret[count]) if _same(rest[: len(way)], way)}:
            yield from self.ends(at + len(way), count + 1)


def _same(shown: str, way: str) -> bool:
    """Digits of escapes may be capitals."""
    return shown == way or (len(way) >= 3 and shown.translate(str.maketrans("ABCDEF", "abcdef")) == way)


def masked_by_the_rule(text: str, secret: str) -> str:
    """Whole secrets first, then 16 characters and what follows, and at the end of the text 8 and what follows."""
    size = len(secret)
    for needed in [size, 16] if size > 16 else [size]:
        at = 0
        while at < len(text):
            ends = list(Reading(secret, text).ends(at))
            reached = [count for count, _ in ends if count >= needed]
            if reached:
                cut = needed < size and any(end == -1 for _, end in ends)
                end = len(text) if cut else max(end for count, end in ends if needed < size or count == size)
                text, at = text[:at] + MASK + text[end:], at + len(MASK)
            else:
                at += 1
    for at in range(len(text)):
        if any(end == -1 and count >= 8 for count, end in Reading(secret, text).ends(at)):
            return text[:at] + MASK
    return text


@st.composite
def texts_with_a_secret(draw: st.DrawFn) -> tuple[str, str]:
    secret = draw(st.text(CHARACTERS, min_size=6, max_size=20))
    pieces = []
    for _ in range(draw(st.integers(1, 3))):
        until = draw(st.integers(0, len(secret)) | st.just(len(secret)))
        pieces += [draw(st.sampled_from(spelled_ways(character))) for character in secret[:until]]
        pieces.append(draw(st.text(CHARACTERS + " ", max_size=3)))
    return secret, "".join(pieces)


@pytest.mark.sampled
@given(texts_with_a_secret(), st.lists(st.integers(0, 300), max_size=4))
def test_a_text_is_masked_as_the_rule_says_however_it_can_be_read_and_whatever_its_pieces_are(
    given_texts: tuple[str, str], cuts: list[int]
) -> None:
    secret, text = given_texts
    assert mask_text(text, [secret]) == masked_by_the_rule(text, secret)
    raw = text.encode()
    marks = sorted({0, *(cut for cut in cuts if cut < len(raw)), len(raw)})
    mask = StreamMask([secret])
    shown = b"".join(mask.feed(raw[a:b]) for a, b in itertools.pairwise(marks)) + mask.finish()
    assert secret.encode() not in shown


def test_a_secret_that_reads_like_an_escape_is_masked_where_another_program_cut_it_off() -> None:
    secret = "%25 of a secret that begins with a percent sign"
    assert mask_text(f"{secret[:25]}... is bad", [secret]) == f"{MASK}... is bad"


@pytest.mark.parametrize(
    ("secret", "text", "shown"),
    [
        ("secret-%2", "secret-%25/", f"{MASK}5/"),  # `%25` could be a further character, but none follows
        ("secret-%2", "secret-%25", f"{MASK}5"),
        ("%abababab", "%ababababab", f"{MASK}ab"),  # `%ab` is no spelling of `%`
        ("a\bsecret", "a\\bsecret a\\Bsecret", f"{MASK} a\\Bsecret"),  # only digits of an escape have two cases
    ],
)
def test_what_only_looks_like_a_spelling_is_not_masked(secret: str, text: str, shown: str) -> None:
    assert mask_text(text, [secret]) == shown


def calls_for(text: str, secret: str, *, piece: int | None = None) -> int:
    """How many calls of Python functions masking makes, if the text comes in pieces of this size."""
    mask_text("a text", [secret])  # makes its tables
    mask, raw = StreamMask([secret]), text.encode()
    count = 0

    def look(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        for at in range(0, len(raw), piece or len(raw)):
            mask.feed(raw[at : at + (piece or len(raw))])
        mask.finish()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("a", "a"),  # 4,096 equal letters, and a text of this letter
        ("ab", "ab"),
        ("\\", "\\"),  # one backslash or an escaped one: the readings double at each
        ("%25", "%2525"),
        ("\\u0061", "\\u005cu0061"),
    ],
)
@pytest.mark.parametrize("end", ["", "b"])
def test_the_work_grows_as_the_text_and_not_faster_whatever_repeats_itself(secret: str, text: str, end: str) -> None:
    def work(size: int) -> int:
        return calls_for((text * size)[: 8 * size - 1], (secret * size)[:size] + end)

    small, large = work(200), work(800)
    assert small > 200
    assert large < 4.5 * small


@pytest.mark.sampled
def test_a_text_that_comes_letter_by_letter_costs_no_more_than_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "MUCH", 32)
    small, large = (calls_for("a" * 2 * size, "a" * size, piece=1) for size in (200, 800))
    assert small > 400
    assert large < 4.5 * small


@pytest.mark.sampled
def test_the_end_of_a_long_beginning_waits_a_little_and_nothing_is_lost() -> None:
    secret = "".join(f"{number:03d}" for number in range(200))
    mask = StreamMask([secret])
    text = f"a {secret[:400]} and other text, {secret}. " + "The rest is ordinary. " * 4
    shown = b"".join(mask.feed(text[at : at + 1].encode()) for at in range(len(text)))
    assert shown.decode() == f"a {MASK} and other text, {MASK}. " + "The rest is ordinary. " * 4


def test_a_text_without_the_secret_costs_no_more_when_it_is_long() -> None:
    secret = "sk-a-secret-of-some-length"
    assert calls_for("an ordinary text. " * 1000, secret) == calls_for("an ordinary text. " * 10, secret)


def test_a_text_of_mere_beginnings_is_read_once() -> None:
    """Once for the whole secret and once for a truncated one: a call for each byte, and few others. Where one is there,
    a second look finds where it begins.
    """
    secret = "abcd-a-secret-of-some-length"
    text = f"{secret[:15]}. " * 100
    assert calls_for(text, secret) < 2 * 1.2 * len(text)
