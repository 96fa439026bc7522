"""A browser that looks at one page on a desk and a phone, light and dark, by keyboard, with scripts and without."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from playwright.async_api import Browser, Page

from tests.axe import ANY, barriers
from tests.browser import asked_elsewhere, complaints, received, width_of, window
from tests.config.every_page.places import Place
from tests.keyboard import walked

PHONE, DESK = 390, 1366
MOST_BYTES = 100_000  # that cross the network for a page of a visitor who comes for the first time
# What can be seen that leads on; and buttons that do nothing by themselves.
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
  for (const [name, value] of Object.entries(typed)) form.elements[name].value = value;
  form.noValidate = true;
  form.requestSubmit();
}
"""


async def findings(
    browser: Browser, server: str, place: Place, cookies: dict[str, str], picture: Path | None
) -> list[str]:
    """What is wrong with the page, a line each."""
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
    """The page where one talks to it, which needs its script."""
    server, ticket, used = url.partition("/ticket")
    return await _seen(await _opened(browser, server, ticket + used, {}), server, None)


async def _opened(browser: Browser, server: str, address: str, cookies: dict[str, str]) -> Page:
    """On a phone that is as wide as a desk: what a page says of its viewport counts."""
    page = await window(browser, server, width=PHONE, cookies=cookies)
    await _resize(page, DESK)
    await page.goto(address)
    return page


async def _resize(page: Page, width: int) -> None:
    await page.set_viewport_size({"width": width, "height": 800})


async def _seen(page: Page, server: str, picture: Path | None) -> list[str]:
    """Of the page that is open, the last that is done with it."""
    found = await _wider(page, DESK) + await _barriers(page, DESK)
    await _resize(page, PHONE)
    # The walk unfolds what is folded: both are looked at.
    found += await _wider(page, PHONE) + [f"by keyboard: {one}" for one in await walked(page)]
    found += await _barriers(page, PHONE) + await _wider(page, PHONE) + await _asked(page, server)
    if picture:
        await page.screenshot(full_page=True, path=picture)
    await page.context.close()
    return found


async def _barriers(page: Page, width: int) -> list[str]:
    """Light and dark."""
    found = []
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        found += [f"{scheme} at {width}: {one}" for one in await barriers(page, impacts=ANY)]
    return found


async def _asked(page: Page, server: str) -> list[str]:
    strange = [f"asks {one}" for one in await asked_elsewhere(page, server)]
    # That a page is not there is what some of them say.
    said = [one for one in await complaints(page) if "Failed to load resource" not in one]
    size = await received(page)
    return strange + said + ([] if 1_000 < size <= MOST_BYTES else [f"{size} bytes"])


async def _scriptless(
    browser: Browser, server: str, place: Place, cookies: dict[str, str], ways: list[str]
) -> list[str]:
    """And in a language of long words."""
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
