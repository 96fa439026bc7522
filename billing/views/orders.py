"""Lists of what an account bought, and what `/crypto/orders`, `/stars/orders` and `/stripe/orders` have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller, limited_key, only_agent
from billing.errors import NoSuchOrder
from billing.models import Order, Subscription
from billing.ownership import agent_named
from billing.serializers.orders import ListOrdersSerializer
from billing.vocabulary import Period
from config import clock, paging
from config.api import ApiViewSet, Serializer
from config.ids import is_id
from config.paging import RowPage

Bought = TypeVar("Bought", Subscription, Order)


def page_of(
    request: Request, rows: QuerySet[Bought], *, path: str, ids: str, query: type[Serializer] = ListOrdersSerializer
) -> RowPage[Bought]:
    """One page of the caller's rows, newest first, narrowed to an agent and a state: up to 1,000, or with a cursor.

    Raises NoSuchAgent, AnothersAgent and UnknownCursor.
    """
    given = query(data=request.query_params.dict())
    given.is_valid(raise_exception=True)
    asked: dict[str, Any] = dict(given.validated_data)
    user, narrowed = caller(request), {"agentId": asked.pop("agent_id", None), "status": asked.pop("status", None)}
    rows, only = rows.filter(user=user), only_agent(request)
    if only is not None:
        rows = rows.filter(agent=only)
    if narrowed["agentId"] is not None:
        rows = rows.filter(agent=agent_named(user, narrowed["agentId"], only=only))
    if narrowed["status"] is not None:
        rows = rows.filter(status=narrowed["status"])
    return paging.page(rows, path=path, ids=ids, narrowed=narrowed, **asked)


QUOTES = "GET /subscriptions/quote says what it would cost, and until when the agent would be paid"


class OrdersViewSet(ApiViewSet):
    """A provider's orders. Its own view adds `create`, and says what its orders look like."""

    path: str
    ids: str  # the prefix of the orders' ids
    envelope: type[Serializer]
    list_envelope: type[Serializer]

    def list(self, request: Request) -> Response:
        """List your orders, newest first.

        All of them up to 1,000; beyond that, or with `limit`, the next page is in `Link: <…>; rel="next"`.
        """
        page = page_of(request, self.get_queryset(), path=self.path, ids=self.ids)
        return Response(self.list_envelope({"orders": page.rows}).data, headers=page.headers)

    def placed(self, request: Request, wanted: dict[str, Any], order: Callable[..., Order], **more: Any) -> Response:
        """Place the order that the body describes. `order` is the provider's rule, `more` is what it takes besides."""
        agent = agent_named(caller(request), wanted["agent_id"], only=only_agent(request))
        period, key = Period(wanted["period"]), limited_key(request)
        return self.shown(order(agent, tier=wanted.get("tier"), period=period, key=key, now=clock.now(), **more))

    def own(self, request: Request, order_id: str) -> Order:
        """The caller's order. Raises NoSuchOrder for a malformed id and for another account's too."""
        rows, only = self.get_queryset().filter(user=caller(request)), only_agent(request)
        if only is not None:
            rows = rows.filter(agent=only)
        found: Order | None = rows.filter(pk=order_id).first() if is_id(self.ids, order_id) else None
        if found is None:
            raise NoSuchOrder(self.path)
        return found

    def cost_of(self, response: Response) -> str:
        return f"usd={response.data['order']['priceUsd']:.2f}"

    def shown(self, order: Order) -> Response:
        return Response(self.envelope({"order": order, "payment": order}).data)
