from __future__ import annotations

import logging

import pytest

from agents.pod.masking import MASK, MaskingFormatter, StreamMask, mask_text

SECRET = "sk-abc/def-0123"


@pytest.mark.parametrize("spelling", [SECRET, "sk-abc%2Fdef-0123", "sk-abc\\/def-0123"])
def test_a_secret_is_masked_in_every_spelling(spelling: str) -> None:
    assert mask_text(f"key {spelling}.", [SECRET]) == f"key {MASK}."


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


def test_log_lines_and_their_tracebacks_are_masked() -> None:
    formatter = MaskingFormatter(lambda: [SECRET])
    with pytest.raises(ValueError, match="sk-") as raised:
        int(SECRET)
    failure = (raised.type, raised.value, raised.tb)
    record = logging.LogRecord("gateway", logging.ERROR, __file__, 1, "with %s", (SECRET,), failure)
    assert SECRET not in formatter.format(record)


@pytest.mark.parametrize("key", ["", "0", "test", "EMPTY"])
def test_a_key_that_is_no_secret_does_not_break_what_it_stands_in(key: str) -> None:
    """A model server that takes any key is given `0`; its answer is full of zeros."""
    answer = '{"choices": [{"index": 0, "delta": {"content": "a test of EMPTY words"}}]}'
    assert mask_text(answer, [key]) == answer
    mask = StreamMask([key])
    assert mask.feed(answer.encode()) + mask.finish() == answer.encode()
