"""Shared by every view of one subscription."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request

from accounts.authentication import caller, only_agent
from agents.views.base import AgentViewSet
from billing.models import Subscription
from billing.ownership import own_subscription


class OwnSubscriptionViewSet(AgentViewSet):
    queryset = Subscription.objects.none()  # type: ignore[assignment]  # the type of {id} for the OpenAPI document

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse other agents' subscriptions to a key for one agent. Raises NoSuchSubscription."""
        super().initial(request, *args, **kwargs)
        if only := only_agent(request):
            own_subscription(caller(request), kwargs["id"], only=only)
