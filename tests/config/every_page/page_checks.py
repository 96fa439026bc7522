"""Checks a page in a browser: desktop and phone, light and dark, by keyboard, with and without scripts."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from playwright.async_api import Browser, Page

from tests.axe import ANY, barriers
from tests.browser import asked_elsewhere, complaints, received, width_of, window
from tests.config.every_page.page_addresses import Place
from tests.keyboard import walked

PHONE, DESK = 390, 1366
MOST_BYTES = 100_000  # over the network, for a visitor's first page
# The visible links and forms, and buttons outside of forms, which do nothing without a script.
_WAYS = """
(() => {
  const seen = one => one.checkVisibility({ visibilityProperty: true });
  const sends = form => [...form.elements].some(one => one.matches("button:not([type=button])") && seen(one));
  const main = document.querySelector("main");
  return {
    ways: [...main.querySelectorAll("a[href]")].filter(seen).map(one => one.getAttribute("href")).concat(
      [...main.querySelectorAll("form")].filter(sends).map(one => one.method + " " + one.getAttribute("action"))),
    idle: [...main.querySelectorAll("button")].filter(one => seen(one) && !one.form).map(one => one.outerHTML),
  };
})()
"""
_SEND = """
([action, typed]) => {
  const form = [...document.forms].find(one => one.getAttribute("action").endsWith(action));
  const hidden = name => Object.assign(document.createElement("input"), { type: "hidden", name });
  for (const [name, value] of Object.entries(typed))
    (form.elements[name] ?? form.appendChild(hidden(name))).value = value;  // one that is missing is a button's
  form.noValidate = true;
  form.requestSubmit();
}
"""


async def findings(
    browser: Browser, server: str, place: Place, cookies: dict[str, str], picture: Path | None
) -> list[str]:
    """The problems of the page, one line each."""
    page = await _opened(browser, server, place.address, cookies)
    if place.signed_out:
        await page.context.clear_cookies(name=settings.ACCOUNT_COOKIE_NAME)
    if place.form:
        async with page.expect_event("load"):
            await page.evaluate(_SEND, [place.form, place.typed])
        return await _seen(page, server, picture)
    if (there := page.url.removeprefix(server)) != place.address:
        return [f"leads to {there}"]
    ways = await page.evaluate(_WAYS)
    return await _seen(page, server, picture) + await _scriptless(browser, server, place, cookies, ways["ways"])


async def findings_at_an_agents_own(browser: Browser, url: str) -> list[str]:
    """The problems of the chat page of an agent, which needs its script."""
    server, ticket, used = url.partition("/ticket")
    return await _seen(await _opened(browser, server, ticket + used, {}), server, None)


async def _opened(browser: Browser, server: str, address: str, cookies: dict[str, str]) -> Page:
    """Open the page in a phone's browser with the width of a desktop, so that the page's viewport setting counts."""
    page = await window(browser, server, width=PHONE, cookies=cookies)
    await _resize(page, DESK)
    await page.goto(address)
    return page


async def _resize(page: Page, width: int) -> None:
    await page.set_viewport_size({"width": width, "height": 800})


async def _seen(page: Page, server: str, picture: Path | None) -> list[str]:
    """Check the open page and close it."""
    found = await _wider(page, DESK) + await _barriers(page, DESK)
    await _resize(page, PHONE)
    # The keyboard walk opens folded parts, so the page is checked before and after it.
    found += await _wider(page, PHONE) + [f"by keyboard: {one}" for one in await walked(page)]
    found += await _barriers(page, PHONE) + await _wider(page, PHONE) + await _asked(page, server)
    if picture:
        await page.screenshot(full_page=True, path=picture)
    await page.context.close()
    return found


async def _barriers(page: Page, width: int) -> list[str]:
    """The barriers in light and in dark."""
    found = []
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        found += [f"{scheme} at {width}: {one}" for one in await barriers(page, impacts=ANY)]
    return found


async def _asked(page: Page, server: str) -> list[str]:
    strange = [f"asks {one}" for one in await asked_elsewhere(page, server)]
    # Some of these pages say that a page does not exist, so this message is expected.
    said = [one for one in await complaints(page) if "Failed to load resource" not in one]
    size = await received(page)
    return strange + said + ([] if 1_000 < size <= MOST_BYTES else [f"{size} bytes"])


async def _scriptless(
    browser: Browser, server: str, place: Place, cookies: dict[str, str], ways: list[str]
) -> list[str]:
    """Check the page without scripts, and in Russian, a language with long words."""
    cookies = {**cookies, settings.LANG_COOKIE_NAME: "ru"}
    page = await window(browser, server, width=PHONE, scripts=False, cookies=cookies)
    await page.goto(place.address)
    found, wide = await page.evaluate(_WAYS), await _wider(page, PHONE)
    await page.context.close()
    left = {one.replace("/ru/", "/en/") for one in found["ways"]}
    lost = [f"without scripts: no {one}" for one in ways if one not in left]
    return lost + [f"without scripts: idle {one}" for one in found["idle"]] + [f"in Russian: {one}" for one in wide]


async def _wider(page: Page, width: int) -> list[str]:
    wide = await width_of(page)
    return [f"{wide} pixels wide in a window of {width}"] if wide > width else []
