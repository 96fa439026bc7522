"""WhatsApp for an engine without its own connection: which people the bridge answers, and that it loses no message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.engines import whatsapp
from agents.engines.base import EngineError, ModelError
from agents.engines.whatsapp import WhatsappInbox
from tests.agents.inbound.conftest import call_of, text
from tests.agents.pod.bridge.process import pod_config
from tests.doubles.whatsapp import ACCESS_TOKEN, PHONE, WhatsappDouble

ANN, BOB = "4915100000001", "4915100000002"
SECRETS = {
    "whatsappPhoneNumberId": PHONE,
    "whatsappAccessToken": ACCESS_TOKEN,
    "whatsappVerifyToken": "verify-me-4711",
    "whatsappAppSecret": "app-secret-4711-0815",
}


class RepeatingConversations:
    """Conversations that repeat the text that they got. `fails` are exceptions for their next turns."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.fails: list[Exception] = []
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.running = self.most = 0

    def conversation(self, session: str) -> RepeatedConversation:
        return RepeatedConversation(self, session)


class RepeatedConversation:
    def __init__(self, engine: RepeatingConversations, session: str) -> None:
        self._engine, self._session, self._said = engine, session, ""

    async def turn(self, message: str) -> AsyncGenerator[str, None]:
        engine = self._engine
        engine.asked.append((self._session, message))
        engine.running += 1
        engine.most = max(engine.most, engine.running)
        try:
            await engine.goes_on.wait()
            if engine.fails:
                raise engine.fails.pop(0)
            self._said = f"re {message}"
            yield self._said
        finally:
            engine.running -= 1

    def reply(self) -> str:
        return self._said


@pytest.fixture
def meta() -> Iterator[WhatsappDouble]:
    with WhatsappDouble() as double:
        yield double


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whatsapp, "SEND_PAUSE_SECONDS", 0.0)


def inbox_of(engine: RepeatingConversations, meta: WhatsappDouble, notes: Path, **more: Any) -> WhatsappInbox:
    config = pod_config(
        channels=["web", "whatsapp"], channel_secrets={**SECRETS, **more}, whatsapp_api_url=meta.url, has_key=True
    )
    return WhatsappInbox(engine.conversation, whatsapp.secrets(config), notes=notes / "whatsapp-read")


def call(name: str, words: str = "hello", *, sender: str = ANN) -> str:
    return json.dumps(call_of(text(name, words, sender=sender), phone=PHONE))


async def until_over(inbox: WhatsappInbox, name: str, body: str) -> None:
    """Bring the message until its turn is over, as the platform does."""
    await until(lambda: inbox.take(name, body))


async def until(seen: Callable[[], object]) -> None:
    for _ in range(1000):
        if seen():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come within 10 s")


def played(story: Callable[[RepeatingConversations], Awaitable[None]]) -> None:
    async def play() -> None:
        await story(RepeatingConversations())

    asyncio.run(play())


def test_each_person_has_a_conversation_and_is_answered_in_it(meta: WhatsappDouble, tmp_path: Path) -> None:
    async def story(engine: RepeatingConversations) -> None:
        inbox = inbox_of(engine, meta, tmp_path)
        await until_over(inbox, "wamid.1", call("wamid.1", "hello"))
        await until_over(inbox, "wamid.2", call("wamid.2", "hi", sender=BOB))
        assert engine.asked == [(f"whatsapp-{ANN}", "hello"), (f"whatsapp-{BOB}", "hi")]
        assert meta.sent == [(ANN, "re hello"), (BOB, "re hi")]
        assert await inbox.state() is None

    played(story)


def test_a_message_that_comes_again_is_read_once_by_the_next_process_too(meta: WhatsappDouble, tmp_path: Path) -> None:
    async def story(engine: RepeatingConversations) -> None:
        inbox = inbox_of(engine, meta, tmp_path)
        assert not inbox.take("wamid.1", call("wamid.1"))
        assert not inbox.take("wamid.1", call("wamid.1"))  # its turn is running
        await until_over(inbox, "wamid.1", call("wamid.1"))
        assert inbox_of(engine, meta, tmp_path).take("wamid.1", call("wamid.1"))
        assert len(engine.asked) == len(meta.sent) == 1

    played(story)


def test_a_message_whose_turn_is_cut_off_is_taken_again_and_given_up_after_four_turns(
    meta: WhatsappDouble, tmp_path: Path
) -> None:
    async def story(engine: RepeatingConversations) -> None:
        engine.fails = [EngineError("the engine has ended")]
        await until_over(inbox_of(engine, meta, tmp_path), "wamid.1", call("wamid.1"))
        assert len(engine.asked) == 2
        assert meta.sent == [(ANN, "re hello")]
        for number in range(1, 4):  # each time in another process
            engine.fails = [ModelError("refused") if number == 2 else EngineError("the engine has ended")]
            asked = len(engine.asked)
            inbox = inbox_of(engine, meta, tmp_path)
            assert not inbox.take("wamid.2", call("wamid.2", "poison"))
            await until(lambda: len(engine.asked) > asked and not engine.running)  # noqa: B023
        await until_over(inbox_of(engine, meta, tmp_path), "wamid.2", call("wamid.2", "poison"))
        assert [said for _, said in engine.asked].count("poison") == 4

    played(story)


def test_one_persons_messages_are_read_one_after_the_other_and_those_of_many_four_at_once(
    meta: WhatsappDouble, tmp_path: Path
) -> None:
    async def story(engine: RepeatingConversations) -> None:
        inbox = inbox_of(engine, meta, tmp_path)
        engine.goes_on.clear()
        for number in range(3):
            inbox.take(f"a{number}", call(f"a{number}", f"a{number}"))
        await until(lambda: engine.asked)
        await asyncio.sleep(0.05)
        assert engine.running == 1
        for number in range(6):
            inbox.take(f"b{number}", call(f"b{number}", sender=f"49152{number}"))
        await until(lambda: engine.running == whatsapp.TURNS_AT_ONCE)
        engine.goes_on.set()
        for number in range(3):
            await until_over(inbox, f"a{number}", call(f"a{number}"))
        for number in range(6):
            await until_over(inbox, f"b{number}", call(f"b{number}"))
        assert [said for whom, said in meta.sent if whom == ANN] == ["re a0", "re a1", "re a2"]
        assert engine.most == whatsapp.TURNS_AT_ONCE

    played(story)


def test_a_long_answer_is_sent_in_messages_that_meta_takes(meta: WhatsappDouble, tmp_path: Path) -> None:
    async def story(engine: RepeatingConversations) -> None:
        await until_over(inbox_of(engine, meta, tmp_path), "wamid.1", call("wamid.1", "x" * 9000))
        assert [len(said) for _, said in meta.sent] == [4096, 4096, 9003 - 8192]

    played(story)


def test_a_refused_access_token_is_told_and_never_shown(meta: WhatsappDouble, tmp_path: Path) -> None:
    async def story(engine: RepeatingConversations) -> None:
        inbox = inbox_of(engine, meta, tmp_path, whatsappAccessToken="another")
        assert await inbox.state() == "the service refuses the access token"
        inbox.take("wamid.1", call("wamid.1"))
        await until(lambda: len(meta.refused) == whatsapp.SEND_TRIES)
        assert meta.sent == []
        wrong_number = inbox_of(engine, meta, tmp_path, whatsappPhoneNumberId="1066")
        assert await wrong_number.state() == "the service answers 400"
        meta.__exit__()
        assert str(await inbox.state()).startswith("the service does not answer (")

    played(story)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"type": "image", "image": {"id": "1", "caption": "my boat"}}, ["re my boat"]),
        ({"type": "button", "button": {"text": "Yes"}}, ["re Yes"]),
        ({"type": "interactive", "interactive": {"button_reply": {"title": "No"}}}, ["re No"]),
        ({"type": "audio", "audio": {"id": "1"}}, []),
        ({"type": "text", "text": {"body": "/model gpt-4"}}, ["Commands are not taken here."]),
    ],
)
def test_what_has_words_is_answered(
    meta: WhatsappDouble, tmp_path: Path, message: dict[str, Any], said: list[str]
) -> None:
    async def story(engine: RepeatingConversations) -> None:
        body = json.dumps(call_of({"id": "wamid.1", "from": ANN, **message}, phone=PHONE))
        await until_over(inbox_of(engine, meta, tmp_path), "wamid.1", body)
        assert [text for _, text in meta.sent] == said

    played(story)


@pytest.mark.parametrize("body", ["no JSON", "[]", '{"entry": [{}]}', '{"entry": [{"changes": [{"value": 1}]}]}'])
def test_what_is_no_call_of_metas_is_dropped(meta: WhatsappDouble, tmp_path: Path, body: str) -> None:
    async def story(engine: RepeatingConversations) -> None:
        await until_over(inbox_of(engine, meta, tmp_path), "odd\nname", body)
        assert engine.asked == []

    played(story)


def test_without_the_channel_or_a_model_key_nothing_is_taken_and_an_older_agent_hears_what_it_lacks(
    meta: WhatsappDouble, tmp_path: Path
) -> None:
    async def story(engine: RepeatingConversations) -> None:
        for config in (pod_config(), pod_config(channels=["whatsapp"], channel_secrets=SECRETS, has_key=False)):
            inbox = WhatsappInbox(engine.conversation, whatsapp.secrets(config), notes=tmp_path / "whatsapp-read")
            assert "model key" in str(await inbox.state())
            with pytest.raises(EngineError):
                inbox.take("wamid.1", call("wamid.1"))
        older = {"whatsappPhoneNumberId": PHONE, "whatsappAccessToken": ACCESS_TOKEN}
        config = pod_config(channels=["whatsapp"], channel_secrets=older, whatsapp_api_url=meta.url)
        inbox = WhatsappInbox(engine.conversation, whatsapp.secrets(config), notes=tmp_path / "x")
        assert "whatsappAppSecret" in str(await inbox.state())

    played(story)
