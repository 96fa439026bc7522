"""/renew/{id} with a stablecoin: the order, where and how much to send, and every way in which money arrives."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from eth_utils.address import is_checksum_address, to_checksum_address
from pytest_django import Settings

from agents.models import Agent
from billing.models import ChainState, CryptoOrder, Order
from billing.sums import exact
from tests.billing.conftest import Clock
from tests.billing.crypto import HOUR, SECOND, USD, fresh, pays, scan, settle, wait, watch
from tests.billing.licences import KEY
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.rpc_proxy import RpcProxy
from tests.doubles.telegram_payments_server import TelegramPayments
from tests.pages.account.renew.cameras import seen_by_camera
from tests.pages.account.renew.paying import Person, led_to, now, problem, words
from tests.pages.page import Page

DAY = timedelta(days=1)


@pytest.fixture
def waiting(person: Person, agent: Agent, coins: Chain) -> Page:
    """The page after a new order of a month of tiny in usdt."""
    return person.order(agent, provider="usdt")


def ordered() -> CryptoOrder:
    return CryptoOrder.objects.select_related("deposit_address").get()


def look(person: Person, agent: Agent) -> str:
    return now(person.open(f"/renew/{agent.pk}"))


@pytest.mark.parametrize(
    ("units", "decimals", "text"),
    [
        (5_000_000, 6, "5"),
        (5_100_000, 6, "5.10"),
        (5_000_001, 6, "5.000001"),
        (1, 18, "0.000000000000000001"),
        (10**40 + 1, 18, "10000000000000000000000.000000000000000001"),
        (2**256 - 1, 18, "115792089237316195423570985008687907853269984665640564039457.584007913129639935"),
        (7, 0, "7"),
        (0, 6, "0"),
    ],
)
def test_sums_are_exact_to_the_last_digit(units: int, decimals: int, text: str) -> None:
    assert exact(units, decimals) == text


def test_an_order_says_what_to_send_where_and_on_which_network(waiting: Page, coins: Chain) -> None:
    order = ordered()
    address = waiting.one("code", id="address").text
    assert address == order.deposit_address.address
    assert is_checksum_address(address)
    assert waiting.one("span", id="amount").text == "5"
    said = now(waiting)
    assert "Send 5 USDT For a month of Tiny" in said
    assert "Waiting for your payment. This order is open until Nov. 22, 2026, 12:00 UTC." in said
    assert f"EVM 31337 (chain id 31337) Token USDT contract {to_checksum_address(coins.usdt.address)}" in said
    assert "Only USDT on EVM 31337 counts. Another coin, or USDT on another network, does not pay" in said


def test_the_code_is_the_address_alone(waiting: Page) -> None:
    """A wallet that does not know EIP-681 would take the token's contract in such a code as the receiver."""
    assert seen_by_camera(waiting) == ordered().deposit_address.address


def test_a_coin_of_18_decimals_is_as_exact(person: Person, agent: Agent, coins: Chain) -> None:
    page = person.order(agent, provider="usdc", period="annual")
    assert "Send 50 USDC For a year of Tiny" in now(page)
    order = ordered()
    assert order.amount == 50 * 10**18
    CryptoOrder.objects.update(amount=order.amount + 1)
    assert "Send 50.000000000000000001 USDC" in look(person, agent)


def test_the_order_is_there_when_one_comes_back(waiting: Page, person: Person, agent: Agent, clock: Clock) -> None:
    clock.go(HOUR)
    again = person.open(f"/renew/{agent.pk}")
    assert again.one("code", id="address").text == waiting.one("code", id="address").text
    assert "open" not in again.one("details", id="choose").attributes


def test_the_same_form_twice_is_one_order(person: Person, agent: Agent, coins: Chain) -> None:
    page = person.choose(agent, provider="usdt")
    for _ in range(2):
        led_to(person.send(page), f"/renew/{agent.pk}")
    assert Order.objects.count() == 1


def test_other_terms_replace_an_order_without_money(waiting: Page, person: Person, agent: Agent, coins: Chain) -> None:
    chosen = person.choose(agent, provider="usdc", period="annual")
    assert "This replaces the order above, unless its money is on its way." in chosen.html
    led_to(person.send(chosen), f"/renew/{agent.pk}")
    assert list(Order.objects.order_by("created_at", "provider").values_list("status", flat=True)) == [
        "pending",
        "expired",
    ]
    assert "Send 50 USDC" in look(person, agent)


def test_once_money_was_seen_other_terms_are_refused_in_words(
    waiting: Page, person: Person, agent: Agent, coins: Chain, telegram: TelegramPayments
) -> None:
    pays(coins.usdt, ordered(), USD)
    for provider in ("usdc", "stars"):
        answer = person.send(person.choose(agent, provider=provider))
        assert answer.status_code == 409
        said = problem(Page(answer.content.decode()), "provider")
        assert said.startswith("Money may be on its way for the order of Tiny with USDT. Wait until it is paid")
    assert Order.objects.get().status == "pending"


# Money arrives.


def test_a_payment_is_seen_then_deeper_then_paid(
    waiting: Page, person: Person, agent: Agent, coins: Chain, clock: Clock
) -> None:
    pays(coins.usdt, ordered())
    scan(clock)
    said = look(person, agent)
    assert "Your payment is on its way" in said
    assert "Seen so far: 5 of 5 USDT. Confirmations: 1. The payment counts once the blockchain" in said
    assert "Send 5" not in said
    coins.mine()
    scan(clock)
    assert "Confirmations: 2." in look(person, agent)
    settle(coins, clock)
    page = person.open(f"/renew/{agent.pk}")
    said = now(page)
    assert "Paid. Thank you! Your payment with USDT has arrived." in said
    assert "The agent has the plan Tiny until Dec. 28, 2026, 12:00 UTC." in said
    assert f"Transaction: {ordered().tx_hash}" in said
    assert words(page.one("a", class_="button", href="/account")) == "To your account"
    assert page.all("svg") == []
    assert "Send" not in said
    assert "expired" not in said


def test_with_a_number_of_blocks_that_is_what_is_shown(
    waiting: Page, person: Person, agent: Agent, coins: Chain, clock: Clock, settings: object
) -> None:
    settings.CRYPTO_CONFIRMATION = "depth:11"  # type: ignore[attr-defined]
    pays(coins.usdt, ordered())
    scan(clock)
    coins.mine(4)
    scan(clock)
    assert "Confirmations: 5 of 12." in look(person, agent)


def test_a_part_is_shown_with_what_is_missing_to_the_unit(
    waiting: Page, person: Person, agent: Agent, coins: Chain, clock: Clock
) -> None:
    pays(coins.usdt, ordered(), 5 * USD - 1)
    scan(clock)
    page = person.open(f"/renew/{agent.pk}")
    assert "Send 0.000001 USDT more" in now(page)
    assert "Seen so far: 4.999999 of 5 USDT. Send the missing 0.000001 USDT to the same address" in now(page)
    assert page.one("span", id="amount").text == "0.000001"
    pays(coins.usdt, ordered(), 1)
    settle(coins, clock)
    assert "Paid. Thank you!" in look(person, agent)


def test_too_much_is_said_before_and_after_it_counts(
    waiting: Page, person: Person, agent: Agent, coins: Chain, clock: Clock
) -> None:
    pays(coins.usdt, ordered(), 7 * USD + 5)
    scan(clock)
    assert "That is 2.000005 USDT more than the price. The plan is paid." in look(person, agent)
    settle(coins, clock)
    assert "You sent 2.000005 USDT more than the price. We have noted it." in look(person, agent)


def test_what_a_reorganisation_takes_back_is_not_shown_as_seen(
    waiting: Page, person: Person, agent: Agent, coins: Chain, clock: Clock
) -> None:
    pays(coins.usdt, ordered())
    scan(clock)
    coins.reorganise(1)
    scan(clock)
    assert "Waiting for your payment." in look(person, agent)
    assert fresh(ordered()).seen_block is None


def test_an_expired_order_says_how_long_money_still_counts(
    waiting: Page, person: Person, agent: Agent, coins: Chain, clock: Clock
) -> None:
    order = ordered()
    wait(coins, clock, 25 * HOUR)
    page = person.open(f"/renew/{agent.pk}")
    assert "This order has expired" in now(page)
    assert "Money that is on its way still counts if it arrives by Dec. 6, 2026, 12:00 UTC" in now(page)
    assert page.all("svg") == []
    assert "data-live" not in page.one("section", id="now").attributes
    pays(coins.usdt, order)
    coins.final()
    watch(clock)
    said = look(person, agent)
    assert "Paid. Thank you!" in said
    assert "It came after its order had expired, but it counts." in said


def test_an_expired_order_with_a_part_says_what_completes_it(
    waiting: Page, person: Person, agent: Agent, coins: Chain, clock: Clock
) -> None:
    pays(coins.usdt, ordered(), 2 * USD)
    settle(coins, clock)
    wait(coins, clock, 25 * HOUR)
    assert ordered().status == "expired"
    page = person.open(f"/renew/{agent.pk}")
    assert "2 USDT arrived, 3 USDT are missing. You can still send them to the same address until Dec. 6, 2026" in now(
        page
    )
    assert page.one("code", id="address").text == ordered().deposit_address.address


def test_an_order_past_its_time_asks_for_no_money_while_the_chain_is_read_once_more(
    waiting: Page, person: Person, agent: Agent, clock: Clock
) -> None:
    clock.go(DAY + SECOND)
    page = person.open(f"/renew/{agent.pk}")
    assert "The time for it is over. Send nothing more." in now(page)
    assert page.all("svg") == []


def test_an_old_expired_order_is_no_news(
    waiting: Page, person: Person, agent: Agent, coins: Chain, clock: Clock
) -> None:
    wait(coins, clock, 25 * HOUR)
    clock.go(14 * DAY)
    assert "expired" not in look(person, agent)


def test_a_licence_pays_beside_an_order_that_waits(
    waiting: Page, person: Person, agent: Agent, gumroad: GumroadServer, clock: Clock
) -> None:
    clock.go(SECOND)
    gumroad.sell(KEY)
    led_to(person.send(person.choose(agent, provider="gumroad"), license_key=KEY), f"/renew/{agent.pk}")
    said = look(person, agent)
    assert "Your payment with Gumroad has arrived." in said
    assert "Send 5 USDT" in said


# Failures.


def test_a_chain_that_cannot_be_read_takes_no_order(
    person: Person, agent: Agent, proxy: RpcProxy, coins: Chain
) -> None:
    page = person.choose(agent, provider="usdt")
    proxy.status = 500
    answer = person.send(page)
    assert answer.status_code == 503
    said = "The blockchain cannot be read at the moment. Nothing was ordered: try again soon."
    assert problem(Page(answer.content.decode()), "provider") == said
    assert not Order.objects.exists()


def test_a_faulty_chain_is_coming_soon(waiting: Page, person: Person, agent: Agent, coins: Chain) -> None:
    page = person.choose(agent, provider="usdc")
    ChainState.objects.update(fault="another token")
    answer = person.send(page)
    assert answer.status_code == 400
    said = problem(Page(answer.content.decode()), "provider")
    assert said == "This way to pay is coming soon. Choose another one."


# Requests of the page's script.


def test_the_part_that_changes_can_be_had_alone(
    waiting: Page, person: Person, agent: Agent, coins: Chain, clock: Clock
) -> None:
    place = waiting.one("section", id="now").attributes["data-live"]
    assert place == f"/renew/{agent.pk}/progress"
    part = person.open(place)
    assert now(part) == now(waiting)
    assert part.all("form") == part.all("html") == []
    before = part.one("section", id="now").attributes["data-state"]
    pays(coins.usdt, ordered())
    settle(coins, clock)
    after = person.open(place).one("section", id="now").attributes
    assert after["data-state"] != before
    assert "data-live" not in after


def test_looking_asks_nobody_outside_and_little_inside(
    waiting: Page, person: Person, agent: Agent, proxy: RpcProxy
) -> None:
    proxy.status = 500
    with CaptureQueriesContext(connection) as asked:
        person.open(f"/renew/{agent.pk}/progress")
    assert len(asked) <= 12, [one["sql"] for one in asked.captured_queries]


def test_in_russian_too(person: Person, agent: Agent, coins: Chain, clock: Clock) -> None:
    person = Person(person.user, lang="ru")
    page = person.order(agent, provider="usdt")
    assert page.lang == "ru"
    assert "Отправьте 5 USDT За месяц тарифа «Мини»" in now(page)
    assert "Заказ открыт до 22 ноября 2026 г., 12:00 UTC." in now(page)
    pays(coins.usdt, ordered(), 2 * USD)
    scan(clock)
    assert "Пока пришло: 2 из 5 USDT. Отправьте недостающие 3 USDT на тот же адрес" in look(person, agent)
    pays(coins.usdt, ordered(), 3 * USD)
    settle(coins, clock)
    assert "Оплачено. Спасибо!" in look(person, agent)


@pytest.mark.parametrize("part", [0, 2 * USD])
def test_nobody_is_asked_for_coins_that_are_taken_no_more(
    waiting: Page, person: Person, agent: Agent, coins: Chain, clock: Clock, settings: Settings, part: int
) -> None:
    if part:
        pays(coins.usdt, ordered(), part)
        settle(coins, clock)
    settings.CRYPTO_TOKENS = {"usdc": f"{coins.usdc.address}:18:USDC"}
    page = person.open(f"/renew/{agent.pk}")
    assert page.all("code", id="address") == []
    assert ("Send nothing more" in now(page)) == (part == 0)
