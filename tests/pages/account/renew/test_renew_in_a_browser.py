"""Paying in a real browser: the open page follows the payment; without scripts, reloading shows the same."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from django.conf import settings as configured
from django.utils import timezone
from playwright.async_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Session, User
from agents.models import Agent
from billing.models import CryptoOrder, Subscription
from billing.providers.crypto import scanning
from tests.billing.crypto import to
from tests.billing.licences import KEY
from tests.browser import asked_elsewhere, complaints, one_window, signed_in, width_of
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.telegram_payments_server import TelegramPayments
from tests.pages.account.renew.cameras import seen_on_screen

pytestmark = pytest.mark.browser

Told = TypeVar("Told")
SHOW, ORDER = ".choose form[method=get] button", "#bill form button"


class RenewVisitor:
    """The agent's owner at its page. Each call returns first, so that the test can move money between calls."""

    def __init__(self, server: str, owner: User, *, lang: str = "en", **how: Any) -> None:
        self._runner = asyncio.Runner()
        cookies = {**signed_in(owner), configured.LANG_COOKIE_NAME: lang}
        self._window = one_window(server, cookies=cookies, **how)
        self.page: Page = self.do(self._window.__aenter__())

    def do(self, call: Coroutine[Any, Any, Told]) -> Told:
        return self._runner.run(call)

    def close(self) -> None:
        self.do(self._window.__aexit__(None, None, None))
        self._runner.close()

    def open(self, place: str) -> None:
        self.do(self.page.goto(place))

    def click(self, *selectors: str) -> None:
        for selector in selectors:
            self.do(self.page.locator(selector).click())

    def sees(self, text: str) -> None:
        self.do(expect(self.page.locator("body")).to_contain_text(text))


@pytest.fixture
def visitor(live_server: LiveServer, owner: User) -> Iterator[RenewVisitor]:
    found = RenewVisitor(live_server.url, owner)
    yield found
    found.close()


@pytest.fixture
def scriptless(live_server: LiveServer, owner: User) -> Iterator[RenewVisitor]:
    found = RenewVisitor(live_server.url, owner, scripts=False)
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
    visitor: RenewVisitor, running: Agent, coins: Chain
) -> None:
    visitor.open(f"/renew/{running.pk}")
    visitor.click(*choose("usdt"))
    visitor.sees("Send 5 USDT")
    visitor.sees("This page follows your payment by itself.")
    visitor.do(visitor.page.evaluate("window.untouched = true"))
    pay(coins)
    scan()
    visitor.sees("Seen so far: 5 of 5 USDT. Confirmations: 1.")
    coins.mine()
    scan()
    visitor.sees("Confirmations: 2.")
    coins.final()
    scan()
    visitor.sees("Paid. Thank you!")
    assert visitor.do(visitor.page.evaluate("window.untouched")) is True
    assert visitor.do(complaints(visitor.page)) == []


def test_the_whole_path_works_without_scripts(scriptless: RenewVisitor, running: Agent, coins: Chain) -> None:
    scriptless.open(f"/renew/{running.pk}")
    scriptless.click("label:has([value=small])", "label:has([value=annual])", "label:has([value=usdt])", SHOW)
    scriptless.sees("A year of Small: $90")
    scriptless.click(ORDER)
    scriptless.sees("Send 90 USDT")
    scriptless.do(expect(scriptless.page.locator("button.copy").first).to_be_hidden())
    pay(coins)
    scan()
    scriptless.click(".again a")
    scriptless.sees("Seen so far: 90 of 90 USDT.")
    coins.final()
    scan()
    scriptless.click(".again a")
    scriptless.sees("Paid. Thank you!")
    assert Subscription.objects.get().tier == "small"


def test_a_key_is_entered_without_scripts_and_corrected(
    scriptless: RenewVisitor, running: Agent, gumroad: GumroadServer
) -> None:
    scriptless.open(f"/renew/{running.pk}")
    scriptless.click("label:has([value=gumroad])", SHOW)
    scriptless.do(scriptless.page.locator("#license_key").fill(KEY))
    scriptless.click(ORDER)
    scriptless.sees("This key was not accepted: gumroad does not know this key")
    gumroad.sell(KEY)
    scriptless.click(ORDER)
    scriptless.sees("Paid. Thank you!")


def test_an_invoice_is_followed_too(visitor: RenewVisitor, running: Agent, telegram: TelegramPayments) -> None:
    visitor.open(f"/renew/{running.pk}")
    visitor.click(*choose("stars"))
    visitor.sees("Pay 385 stars in Telegram")
    link = visitor.do(visitor.page.locator("a[href^='https://t.me/']").get_attribute("href"))
    assert link
    telegram.pay(link)
    visitor.sees("Paid. Thank you!")


def test_who_is_signed_out_meanwhile_is_sent_to_sign_in(visitor: RenewVisitor, running: Agent, coins: Chain) -> None:
    visitor.open(f"/renew/{running.pk}")
    visitor.click(*choose("usdt"))
    visitor.sees("Send 5 USDT")
    Session.objects.all().delete()
    visitor.do(expect(visitor.page.get_by_label("E-mail address")).to_be_visible())


@pytest.mark.parametrize("dark", [False, True])
def test_a_camera_reads_the_code_from_the_screen(
    visitor: RenewVisitor, running: Agent, coins: Chain, dark: bool
) -> None:
    visitor.open(f"/renew/{running.pk}")
    visitor.click(*choose("usdt"))
    visitor.do(visitor.page.set_viewport_size({"width": 375, "height": 800}))
    visitor.do(visitor.page.emulate_media(color_scheme="dark" if dark else "light"))
    visitor.open(f"/renew/{running.pk}")
    address = CryptoOrder.objects.select_related("deposit_address").get().deposit_address.address
    assert seen_on_screen(visitor.do(visitor.page.screenshot(full_page=True))) == address


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_every_state_fits_a_phone_and_asks_only_us(
    live_server: LiveServer, owner: User, running: Agent, coins: Chain, telegram: TelegramPayments, lang: str
) -> None:
    visitor = RenewVisitor(live_server.url, owner, lang=lang, width=320)
    wanted = f"/renew/{running.pk}?tier=small&period=annual&provider="
    for place in (f"/renew/{running.pk}", wanted + "usdt", wanted + "stars", wanted + "paypal"):
        visitor.open(place)
        assert visitor.do(width_of(visitor.page)) <= 320, place
    for provider in ("stars", "usdt"):
        visitor.open(wanted + provider)
        visitor.click(ORDER)
        visitor.open(f"/renew/{running.pk}")
        assert visitor.do(width_of(visitor.page)) <= 320, provider
    # The server answers an unknown way of paying with 400.
    assert [one for one in visitor.do(complaints(visitor.page)) if "400" not in one] == []
    assert visitor.do(asked_elsewhere(visitor.page, live_server.url)) == []
    visitor.close()
