"""Lemon Squeezy's answers, and how the driver reads them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from billing.errors import LicenceRefused
from billing.providers.base import ProviderAnswer, Verdict
from billing.providers.lemonsqueezy.driver import LemonSqueezy
from billing.vocabulary import Period
from config.errors import Unavailable
from tests.billing.conftest import NOON
from tests.billing.licences import LEMON
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer

pytestmark = pytest.mark.sampled


def verdict(now: datetime = NOON) -> Verdict:
    return LemonSqueezy().verify(LEMON, now=now)


def test_a_key_that_was_never_activated_is_paid_until_it_expires(lemon: LemonSqueezyServer) -> None:
    lemon.sell(LEMON)
    assert verdict() == Verdict(
        answer=ProviderAnswer.PAID,
        external_ref="301",
        till=NOON.replace(month=12),
        tier="tiny",
        period=Period.MONTHLY,
        used=0,
    )


def test_a_key_without_a_date_is_paid_for_its_running_period(lemon: LemonSqueezyServer) -> None:
    lemon.sell(LEMON, 103, expires_at=None)
    assert verdict(NOON.replace(year=2028)).till == NOON.replace(year=2029)


@pytest.mark.parametrize("changes", [{"store": 2}, {"product": 11}, {"variant": 999}])
def test_a_key_of_another_seller_or_product_is_refused_though_it_is_valid(
    lemon: LemonSqueezyServer, changes: dict[str, Any]
) -> None:
    lemon.sell(LEMON, **{"variant": 101} | changes)
    assert (verdict().answer, verdict().revoked) == (ProviderAnswer.UNPAID, False)


@pytest.mark.parametrize("status", ["expired", "disabled"])
def test_a_key_that_is_expired_or_disabled_is_unpaid_now(lemon: LemonSqueezyServer, status: str) -> None:
    lemon.sell(LEMON, status=status)
    assert (verdict().answer, verdict().revoked) == (ProviderAnswer.UNPAID, True)


def test_a_key_that_nobody_knows_may_be_new(lemon: LemonSqueezyServer) -> None:
    assert (verdict().answer, verdict().revoked) == (ProviderAnswer.UNPAID, False)
    assert "try again soon" in verdict().reason


@pytest.mark.parametrize("status", [400, 404, 422, 429, 500, 503])
def test_an_error_without_its_text_is_unknown(lemon: LemonSqueezyServer, status: int) -> None:
    lemon.sell(LEMON)
    lemon.fail(status)
    assert verdict().answer == ProviderAnswer.UNKNOWN


@pytest.mark.parametrize("status", [400, 422])
def test_another_4xx_than_404_says_nothing_of_the_key(lemon: LemonSqueezyServer, status: int) -> None:
    lemon.sell(LEMON)
    lemon.fail(status, body={"valid": False, "error": "The store is being moved.", "license_key": None})
    assert verdict().answer == ProviderAnswer.UNKNOWN


@pytest.mark.parametrize(
    "body",
    [
        {"error": "no Route matched with those values"},
        {"valid": False, "error": "no Route matched with those values"},
        {"error": "license_key not found."},
        {"message": "", "valid": False, "error": None},
    ],
)
def test_a_404_in_other_words_than_the_documentations_is_unknown(
    lemon: LemonSqueezyServer, body: dict[str, object]
) -> None:
    lemon.sell(LEMON)
    lemon.fail(404, body=body)
    assert verdict().answer == ProviderAnswer.UNKNOWN
    with pytest.raises(Unavailable):
        LemonSqueezy().activate(LEMON, agent_id="agt_1")
    with pytest.raises(Unavailable):
        LemonSqueezy().release(LEMON, instance="instance-1")


@pytest.mark.parametrize("missing", ["store_id", "product_id", "variant_id"])
def test_a_key_that_does_not_say_what_was_sold_is_unknown(lemon: LemonSqueezyServer, missing: str) -> None:
    licence = lemon.sell(LEMON)
    meta = {name: value for name, value in licence.meta().items() if name != missing}
    lemon.fail(200, body={"valid": True, "error": None, "license_key": licence.key(LEMON), "meta": meta})
    assert verdict().answer == ProviderAnswer.UNKNOWN


def test_a_key_that_is_called_active_and_not_valid_is_unknown(lemon: LemonSqueezyServer) -> None:
    licence = lemon.sell(LEMON, status="active")
    body = {"valid": False, "error": "try again", "license_key": licence.key(LEMON), "meta": licence.meta()}
    lemon.fail(400, body=body)
    assert verdict().answer == ProviderAnswer.UNKNOWN


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"valid": true, "license_key": {"status": "odd"}, "meta": {}}'])
def test_a_body_that_makes_no_sense_is_no_payment(lemon: LemonSqueezyServer, body: bytes) -> None:
    lemon.sell(LEMON)
    lemon.fail(body)
    found = verdict()
    assert (found.answer, found.revoked) in {(ProviderAnswer.UNKNOWN, False), (ProviderAnswer.UNPAID, False)}


def test_verifying_activates_nothing(lemon: LemonSqueezyServer) -> None:
    licence = lemon.sell(LEMON)
    verdict()
    assert (licence.status, licence.instances) == ("inactive", {})


def test_an_activation_is_made_and_given_back(lemon: LemonSqueezyServer) -> None:
    licence = lemon.sell(LEMON)
    instance = LemonSqueezy().activate(LEMON, agent_id="agt_1")
    assert licence.instances == {instance: "agt_1"}
    assert verdict().exhausted
    with pytest.raises(LicenceRefused, match="activation limit"):
        LemonSqueezy().activate(LEMON, agent_id="agt_2")
    for _ in range(2):
        LemonSqueezy().release(LEMON, instance=instance)
    assert licence.instances == {}


def test_without_an_answer_it_is_neither_activated_nor_released(lemon: LemonSqueezyServer) -> None:
    lemon.sell(LEMON)
    lemon.fail(503)
    with pytest.raises(Unavailable):
        LemonSqueezy().activate(LEMON, agent_id="agt_1")
    with pytest.raises(Unavailable):
        LemonSqueezy().release(LEMON, instance="instance-1")


@pytest.mark.parametrize("name", ["LEMONSQUEEZY_STORE", "LEMONSQUEEZY_PRODUCTS", "LEMONSQUEEZY_VARIANTS"])
def test_with_a_setting_missing_it_is_coming_soon(lemon: LemonSqueezyServer, settings: Any, name: str) -> None:
    assert LemonSqueezy().offer.active
    setattr(settings, name, type(getattr(settings, name))())
    assert not LemonSqueezy().offer.active
