"""One model call: what it will probably take, and what it took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from aiohttp import ClientResponse

from agents.cause import Cause
from agents.pod.gateway.llm.log import ModelFailure
from agents.pod.gateway.replay.answer_texts import AnswerTexts
from agents.pod.gateway.spending.answer_reader import AnswerReader
from agents.pod.gateway.spending.book import RowKey
from agents.pod.gateway.spending.tokens import ModelProtocol, Tokens

# English has about four bytes a token in all vendors' tokens.
BYTES_A_TOKEN = 4
# The answer of a call that names no limit.
USUAL_OUTPUT = 4096
# No vendor's model is faster for long. What an engine did not wait for is estimated by this, as the vendor goes on.
TOKENS_A_SECOND = 100
LONGEST_OUTPUT = 128 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Units for a token. See `limits.UNITS_A_USD`."""

    input: int
    cached: int
    written: int
    output: int

    def cost(self, tokens: Tokens) -> int:
        plain = tokens.input - tokens.cached - tokens.written
        read_or_written = tokens.cached * self.cached + tokens.written * self.written
        return plain * self.input + read_or_written + tokens.output * self.output


@dataclass(slots=True)
class MeteredCall:
    key: RowKey
    protocol: ModelProtocol | None  # None: vendors charge nothing for such a call
    request_bytes: int
    most_output: int | None  # the limit that the call names
    is_own_server: bool
    api_keys: tuple[str, ...] = ()  # of the turns for which the engine makes the call
    is_at_keys_limit: bool = False  # a limit of one of them refuses the call
    began: float = field(default_factory=time.monotonic)
    is_free: bool = False  # the vendor did not answer, or refused
    is_counted: bool = False  # the call is over, and what it took is in the book
    is_read: bool = False  # for the replay: also what the answer says
    failure: ModelFailure | None = None
    cause: Cause | None = None  # of the failure, if a limit of the owner refused the call
    texts: AnswerTexts | None = None
    _reader: AnswerReader | None = None

    @property
    def expected(self) -> Tokens:
        """What the call will probably take."""
        output = USUAL_OUTPUT if self.most_output is None else self.most_output
        return Tokens(input=self._input(), output=min(output, LONGEST_OUTPUT))

    def answers(self, answer: ClientResponse) -> None:
        if self.protocol is None:
            return
        is_stream = answer.content_type == "text/event-stream"
        self._reader = AnswerReader(self.protocol, is_stream=is_stream)
        if self.is_read:
            self.texts = AnswerTexts(self.protocol, is_stream=is_stream)

    def feed(self, piece: bytes) -> None:
        if self._reader:
            self._reader.feed(piece)
        if self.texts:
            self.texts.feed(piece)

    def ended(self) -> None:
        """The whole answer has passed."""
        if self._reader:
            self._reader.finish()

    def taken(self) -> tuple[Tokens, bool]:
        """What the call took, and whether that is an estimate."""
        found = self._reader.found if self._reader else None
        if found and self._reader and self._reader.is_whole:
            return found, False
        output = max(self._output(), found.output if found else 0)
        if found:
            rest = {"cached": found.cached, "written": found.written, "reasoning": found.reasoning}
            return Tokens(input=found.input, output=output, **rest), True
        return Tokens(input=self._input(), output=output), True

    def _input(self) -> int:
        return -(-self.request_bytes // BYTES_A_TOKEN)

    def _output(self) -> int:
        """By the text that passed. An engine that breaks off does not save what the vendor has made by then, and a
        stream may have more than it shows: so the time counts too, unless the server is the operator's own.
        """
        seen = -(-self._reader.text_bytes // BYTES_A_TOKEN) if self._reader else 0
        if self.is_own_server:
            return seen
        most = LONGEST_OUTPUT if self.most_output is None else min(self.most_output, LONGEST_OUTPUT)
        return max(seen, min(most, int((time.monotonic() - self.began) * TOKENS_A_SECOND)))
