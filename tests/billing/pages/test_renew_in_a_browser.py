"""Paying in a real browser: the open page follows the money; without scripts the same by looking again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as configured
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts import sessions
from accounts.models import Session, User
from agents.models import Agent
from billing.crypto import scanning
from billing.models import CryptoOrder, Subscription
from tests.billing.crypto import chain, coins, one_chain, to
from tests.billing.licences import KEY, gumroad
from tests.billing.pages.cameras import seen_on_screen
from tests.billing.pages.tabs import Tab
from tests.billing.stars.conftest import telegram
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.telegram_payments_server import TelegramPayments

__all__ = ["chain", "coins", "gumroad", "one_chain", "telegram"]

pytestmark = pytest.mark.browser

SHOW, ORDER = ".choose form[method=get] button", "#bill form button"


class Visitor:
    """The owner of an agent at its page, as calls one after the other."""

    def __init__(self, server: str, owner: User, *, lang: str = "en") -> None:
        self.server, self._runner, self.tab = server, asyncio.Runner(), Tab()
        self.do(self.tab.__aenter__())
        _, token = sessions.start(owner, attribution=None, now=timezone.now())
        cookies = {configured.ACCOUNT_COOKIE_NAME: token, configured.LANG_COOKIE_NAME: lang}
        self.do(self.tab.sign_in(server, cookies))

    def do(self, call: Any) -> Any:
        return self._runner.run(call)

    def close(self) -> None:
        self.do(self.tab.__aexit__(None, None, None))
        self._runner.close()

    def open(self, place: str, **how: Any) -> None:
        self.do(self.tab.visit(self.server + place, **{"width": 1000, **how}))

    def click(self, *selectors: str) -> None:
        for selector in selectors:
            self.do(self.tab.click(selector))

    def sees(self, text: str) -> Any:
        return self.do(self.tab.until(text))

    def evaluates(self, expression: str) -> Any:
        return self.do(self.tab.call("Runtime.evaluate", expression=expression))["result"].get("value")


@pytest.fixture
def visitor(live_server: LiveServer, owner: User) -> Iterator[Visitor]:
    found = Visitor(live_server.url, owner)
    yield found
    found.close()


def scan() -> None:
    scanning.scan(now=timezone.now())


def pay(coins: Chain) -> None:
    order = CryptoOrder.objects.select_related("deposit_address").get()
    coins.usdt.send(to(order), int(order.amount))


def choose(provider: str) -> tuple[str, ...]:
    return f"label:has([value={provider}])", SHOW, ORDER


def test_the_open_page_shows_the_money_seen_and_then_paid_without_a_reload(
    visitor: Visitor, running: Agent, coins: Chain
) -> None:
    visitor.open(f"/renew/{running.pk}")
    visitor.click(*choose("usdt"))
    visitor.sees("Send 5 USDT")
    visitor.sees("This page follows your payment by itself.")
    visitor.evaluates("window.untouched = true")
    pay(coins)
    scan()
    visitor.sees("Seen so far: 5 of 5 USDT. Confirmations: 1.")
    coins.mine()
    scan()
    visitor.sees("Confirmations: 2.")
    coins.final()
    scan()
    visitor.sees("Paid. Thank you!")
    assert visitor.evaluates("window.untouched") is True
    assert visitor.tab.visited.complaints == []


def test_the_whole_path_works_without_scripts(visitor: Visitor, running: Agent, coins: Chain) -> None:
    visitor.do(visitor.tab.scripts(on=False))
    visitor.open(f"/renew/{running.pk}")
    visitor.click("label:has([value=small])", "label:has([value=annual])", "label:has([value=usdt])", SHOW)
    visitor.sees("A year of Small: $90")
    visitor.click(ORDER)
    page = visitor.sees("Send 90 USDT")
    assert "hidden" in page.all("button", class_="copy")[0].attributes
    pay(coins)
    scan()
    visitor.click(".again a")
    visitor.sees("Seen so far: 90 of 90 USDT.")
    coins.final()
    scan()
    visitor.click(".again a")
    visitor.sees("Paid. Thank you!")
    assert Subscription.objects.get().tier == "small"


def test_a_key_is_entered_without_scripts_and_corrected(
    visitor: Visitor, running: Agent, gumroad: GumroadServer
) -> None:
    visitor.do(visitor.tab.scripts(on=False))
    visitor.open(f"/renew/{running.pk}")
    visitor.click("label:has([value=gumroad])", SHOW)
    visitor.do(visitor.tab.type("#license_key", KEY))
    visitor.click(ORDER)
    visitor.sees("This key was not accepted: gumroad does not know this key")
    gumroad.sell(KEY)
    visitor.click(ORDER)
    visitor.sees("Paid. Thank you!")


def test_an_invoice_is_followed_too(visitor: Visitor, running: Agent, telegram: TelegramPayments) -> None:
    visitor.open(f"/renew/{running.pk}")
    visitor.click(*choose("stars"))
    page = visitor.sees("Pay 385 stars in Telegram")
    (link,) = [one.attributes["href"] for one in page.all("a") if one.attributes["href"].startswith("https://t.me/")]
    telegram.pay(link)
    visitor.sees("Paid. Thank you!")


def test_who_is_signed_out_meanwhile_is_sent_to_sign_in(visitor: Visitor, running: Agent, coins: Chain) -> None:
    visitor.open(f"/renew/{running.pk}")
    visitor.click(*choose("usdt"))
    visitor.sees("Send 5 USDT")
    Session.objects.all().delete()
    assert visitor.sees("Sign in").all("input", name="email")


@pytest.mark.parametrize("dark", [False, True])
def test_a_camera_reads_the_code_from_the_screen(visitor: Visitor, running: Agent, coins: Chain, dark: bool) -> None:
    visitor.open(f"/renew/{running.pk}")
    visitor.click(*choose("usdt"))
    visitor.open(f"/renew/{running.pk}", width=375, dark=dark)
    address = CryptoOrder.objects.select_related("deposit_address").get().deposit_address.address
    assert seen_on_screen(visitor.do(visitor.tab.picture())) == address


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_every_state_fits_a_phone_and_asks_only_us(
    live_server: LiveServer, owner: User, running: Agent, coins: Chain, telegram: TelegramPayments, lang: str
) -> None:
    visitor = Visitor(live_server.url, owner, lang=lang)
    wanted = f"/renew/{running.pk}?tier=small&period=annual&provider="
    for place in (f"/renew/{running.pk}", wanted + "usdt", wanted + "stars", wanted + "paypal"):
        visitor.open(place, width=320)
        assert visitor.tab.visited.width <= 320, place
    for provider in ("stars", "usdt"):
        visitor.open(wanted + provider, width=320)
        visitor.click(ORDER)
        visitor.open(f"/renew/{running.pk}", width=320)
        assert visitor.tab.visited.width <= 320, provider
        assert visitor.tab.visited.complaints == []
        assert [one for one in visitor.tab.visited.requests if not one.startswith(live_server.url)] == []
    visitor.close()
