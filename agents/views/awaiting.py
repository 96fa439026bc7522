"""Answers with the outcome of a delivery. They wait on the server's event loop, without a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from agents.views.base import AgentViewSet
from config import promises
from config.streams import Beginning
from webhooks.reports import AwaitedDelivery
from webhooks.serializers import WebhookDeliverySerializer


def answered(view: AgentViewSet, request: Request, awaited: AwaitedDelivery) -> HttpResponseBase:
    """Answer with the outcome, once it is there."""

    @asynccontextmanager
    async def promise() -> AsyncIterator[Beginning]:
        report = await awaited.report()
        yield promises.whole({"delivery": WebhookDeliverySerializer(report).data})

    return promises.promised(view, request, promise, end=awaited.leave)
