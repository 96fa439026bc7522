"""The errors that billing raises, and their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.errors import BadRequest, Conflict, Forbidden, NotFound, Unavailable

if TYPE_CHECKING:
    from billing.models import CardSubscription, Order, Subscription


class LicenceHeld(Conflict):
    def __init__(self, held: Subscription) -> None:
        super().__init__(
            f"licenseKey: this agent has a licence of {held.provider} already ({held.id}); change the plan there, or"
            " wait until that one has expired"
        )


class AlreadyExpired(Conflict):
    def __init__(self, row: Subscription) -> None:
        super().__init__(f"{row.id} has expired: there is nothing to cancel")


class NeverEnds(Conflict):
    def __init__(self, row: Subscription) -> None:
        super().__init__(f"{row.id} was granted by an operator and does not renew: there is nothing to cancel")


class NothingAfter(Conflict):
    """No next plan can be chosen. `why` says what to do instead."""

    def __init__(self, row: Subscription, why: str) -> None:
        super().__init__(f"{row.pk}: no plan can be chosen for the time after it: {why}")


class NotSmaller(BadRequest):
    def __init__(self, came: str, held: str) -> None:
        super().__init__(
            f"tier: {came!r} is not smaller than {held!r}: a larger plan starts as soon as it is paid for, by an order"
        )


class AlreadyPaid(Conflict):
    def __init__(self, order: Order) -> None:
        super().__init__(f"{order.pk} is paid already: this money is another payment")


class NothingGranted(Conflict):
    def __init__(self, agent_id: str) -> None:
        super().__init__(f"{agent_id} has no grant: there is nothing to revoke")


class NothingToRefund(Conflict):
    def __init__(self, agent_id: str) -> None:
        super().__init__(f"{agent_id} has no paid subscription: there is nothing to refund")


class NoPartToRefund(Conflict):
    def __init__(self, payment_id: str, why: str) -> None:
        super().__init__(f"{payment_id}: no part of it can go back: {why}")


class CouponRefused(BadRequest):
    def __init__(self, why: str) -> None:
        super().__init__(f"coupon: {why}")


class NothingToMove(Conflict):
    def __init__(self, agent_id: str) -> None:
        super().__init__(f"{agent_id} has no valid licence: there is nothing to move")


class NotParked(Conflict):
    def __init__(self, subscription_id: str) -> None:
        super().__init__(
            f"{subscription_id}: only what is left of a deleted agent's paid time can be moved, within 90 days"
        )


class NothingToCredit(BadRequest):
    def __init__(self, days: int, most: int) -> None:
        super().__init__(f"days: {days} given, 1 to {most} allowed")


class MoneySeen(Conflict):
    def __init__(self, order: Order) -> None:
        super().__init__(
            f"{order.pk} is pending and may be paid already: wait until it is paid or expired, or order the same again"
            f" ({order.provider}, {order.tier}, {order.period})"
        )


class OtherPlanHeld(Conflict):
    def __init__(self, held: Subscription) -> None:
        super().__init__(
            f"tier: a licence of {held.provider} holds this agent on {held.tier!r}; change the plan there, or order"
            f" more time of {held.tier!r}"
        )


class CardRenews(Conflict):
    def __init__(self, card: CardSubscription) -> None:
        super().__init__(
            f"a card is charged for this agent already ({card.tier}, {card.order.period}): it renews by itself;"
            " order another plan or period, or cancel it first"
        )


class OtherPlanByCard(Conflict):
    def __init__(self, card: CardSubscription) -> None:
        super().__init__(
            f"tier: a card is charged for {card.tier!r} here; change the plan with POST /stripe/orders, or cancel"
            " that subscription first"
        )
        self.tier = card.tier


class NotConfigured(BadRequest):
    """The provider is not set up yet. Raised after the fields and the ownership were checked."""

    def __init__(self, field: str, provider: str) -> None:
        super().__init__(
            f"{field}: {str(provider)!r} is coming soon and cannot be paid with yet;"
            " GET /payment-providers lists what can"
        )


class NothingToPay(BadRequest):
    def __init__(self, tier: str, period: str) -> None:
        super().__init__(f"tier: {tier!r} costs nothing {period}, so there is nothing to pay")


class LicenceRefused(BadRequest):
    """The provider refuses the key, or the key is for something else. `why` never contains the key."""

    def __init__(self, why: str) -> None:
        super().__init__(f"licenseKey: {why}")


class TakenBack(LicenceRefused):
    def __init__(self) -> None:
        super().__init__(
            "what was paid for this period has been refunded or credited; the key pays again once it is renewed"
        )


class LicenceInUse(Conflict):
    """The message is the same whichever account uses the licence, so it does not tell whose it is."""

    message = "licenseKey: this licence is in use on an agent already; a licence pays for one agent"


class OtherPlanPaid(BadRequest):
    def __init__(self, field: str, came: str, paid: str) -> None:
        super().__init__(f"{field}: {str(came)!r} given, but this licence pays for {paid!r}: give that")
        self.field, self.paid = field, paid


class GrantedOnly(Forbidden):
    message = "provider: only operators grant 'internal'"


class SoldByOrder(BadRequest):
    def __init__(self, provider: str, where: str) -> None:
        super().__init__(f"provider: {str(provider)!r} is paid by an order: POST {where}")


class NoSuchOrder(NotFound):
    def __init__(self, path: str) -> None:
        super().__init__(f"no such order: GET {path} lists yours")


class OrderMeanwhile(Unavailable):
    def __init__(self) -> None:
        super().__init__("another order of this agent has just ended: order again", retry_after=1)


class NoSuchSubscription(NotFound):
    message = "no such subscription: GET /subscriptions lists yours"


class NoCallback(NotFound):
    message = "provider: this provider sends no callbacks"


class NothingToVerify(Conflict):
    def __init__(self, subject: str) -> None:
        super().__init__(f"{subject} has no licence, so there is no provider to ask")


class AskedAlready(Conflict):
    def __init__(self, subject: str) -> None:
        super().__init__(f"{subject} is being checked already: try again in a minute")
