"""Answers of turns with an agent. They wait on the server's event loop, without a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from agents.runtimes.turns import ChatReply
from agents.talking.chat import ChatTurn, TurnEvents
from agents.views.base import AgentViewSet
from config import promises
from config.streams import Beginning

LARGE_CHARACTERS = 16_384  # of a reply: a thread writes it, and the event loop serves others meanwhile

Wire = Callable[[TurnEvents], AsyncGenerator[bytes, None]]


def answered(
    view: AgentViewSet, request: Request, turn: ChatTurn, told: Callable[[ChatReply], Beginning]
) -> HttpResponseBase:
    """Answer with the reply of the turn, as `told` says it. When the client hangs up, the turn ends."""

    @asynccontextmanager
    async def promise() -> AsyncIterator[Beginning]:
        said = await turn.reply()
        is_large = said.parts or len(said.reply) > LARGE_CHARACTERS
        yield await asyncio.to_thread(told, said) if is_large else told(said)

    return promises.promised(view, request, promise, end=turn.leave)


def streamed(view: AgentViewSet, request: Request, turn: ChatTurn, wire: Wire) -> HttpResponseBase:
    """Answer with the events of the turn, as `wire` writes them. When the client hangs up, the turn ends."""

    @asynccontextmanager
    async def promise() -> AsyncIterator[Beginning]:
        async with aclosing(turn.events()) as events:
            await anext(events)  # what fails before the turn begins is a refusal
            yield promises.stream(wire(events))

    return promises.promised(view, request, promise, end=turn.leave)
