"""The request fields that the orders of several providers have."""

from billing.vocabulary import OrderStatus, Period
from catalog.tiers import known_tier
from config.api import Choice, Serializer, Text
from config.numbers import QueryNumber
from config.paging import MAX_CURSOR, MAX_PAGE

MAX_ID = 40


class NewOrderSerializer(Serializer):
    agent_id = Text(max_length=MAX_ID)
    tier = Text(required=False, validators=[known_tier], help_text="The plan to pay for; the agent's own by default.")
    period = Choice(Period.choices)
    coupon = Text(required=False, max_length=40, help_text="The code of a coupon: what it takes off is in `priceUsd`.")


class ListOrdersSerializer(Serializer):
    agent_id = Text(required=False, max_length=MAX_ID, help_text="Only this agent's.")
    status = Choice(OrderStatus.choices, required=False)
    limit = QueryNumber(required=False, min_value=1, max_value=MAX_PAGE)
    cursor = Text(required=False, max_length=MAX_CURSOR, help_text="From the `Link` header of the page before.")
