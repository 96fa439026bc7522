"""Answers with the outcome of a delivery. They wait on the server's event loop, without a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from agents.views.base import AgentViewSet
from config import promises
from config.streams import Beginning
from webhooks.reports import AwaitedDelivery, DeliveryReport
from webhooks.serializers import WebhookDeliverySerializer


def answered(view: AgentViewSet, request: Request, awaited: AwaitedDelivery | DeliveryReport) -> HttpResponseBase:
    """Answer with the outcome, once it is there."""
    if isinstance(awaited, DeliveryReport):
        return Response(_told(awaited))

    @asynccontextmanager
    async def promise() -> AsyncIterator[Beginning]:
        yield promises.whole(_told(await awaited.report()))

    return promises.promised(view, request, promise, end=awaited.leave)


def _told(report: DeliveryReport) -> dict[str, Any]:
    return {"delivery": WebhookDeliverySerializer(report).data}
