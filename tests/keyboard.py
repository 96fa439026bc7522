"""Walks through a page by keyboard alone: where Tab leads, what is visible there, and what Enter and Space do."""

from __future__ import annotations

from playwright.async_api import Page

PARTS_OF_A_DATE = 5
# All visible controls, in the order of the document. Of a group of radio buttons only the one at which Tab stops.
_BEGIN = """
(() => {
  const WAYS = "a[href], button, input:not([type=hidden]), select, textarea, summary, iframe, [tabindex]";
  const group = one =>
    [...document.getElementsByName(one.name)].filter(other => other.form === one.form && !other.disabled);
  const stops = one => one.type !== "radio" || one === (group(one).find(other => other.checked) || group(one)[0]);
  const reached = one => one.checkVisibility({ visibilityProperty: true }) && !one.matches(":disabled") && stops(one)
    && !(one.hasAttribute("tabindex") && one.tabIndex < 0 && !one.matches("a[href], button, input, select, textarea"));
  const shown = one => [one, one.parentElement, one.closest("label, form")].filter(Boolean).map(node => {
    const now = getComputedStyle(node);
    return [now.outlineStyle === "none" ? "" : now.outline, now.boxShadow, now.border, now.backgroundColor].join();
  }).join();
  const named = one => one.outerHTML.split(">")[0].slice(0, 120) + "> " + one.textContent.trim().slice(0, 40);
  const scrolls = one => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight;
  const inside = one => {
    const place = one.getBoundingClientRect();
    return place.bottom > 0 && place.right > 0 && place.top < innerHeight && place.left < innerWidth;
  };
  document.activeElement.blur();
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute("tabindex");
  const room = document.querySelector("dialog[open]") || document;
  const ways = [...room.querySelectorAll(WAYS)].filter(reached);
  const plain = new Map(ways.map(one => [one, shown(one)]));
  const walk = window.walked = { count: ways.length, seen: [], found: [] };
  const leave = event => {
    const one = document.activeElement;
    if (event.key === "Tab" && one !== document.body && !inside(one)) walk.found.push("out of sight: " + named(one));
  };
  const come = ({ target: one }) => {
    if (walk.seen.includes(one)) return;
    if (plain.get(one) === shown(one)) walk.found.push("not seen to have the focus: " + named(one));
    walk.seen.push(one);
  };
  document.addEventListener("keydown", leave, true);
  document.addEventListener("focusin", come, true);
  walk.end = () => {
    document.removeEventListener("keydown", leave, true);
    document.removeEventListener("focusin", come, true);
    const seen = walk.seen.filter(one => plain.has(one)), strange = walk.seen.filter(one => !plain.has(one));
    const missed = ways.filter(one => !seen.includes(one)), met = ways.filter(one => seen.includes(one));
    const early = seen.filter((one, at) => one !== met[at]);
    return walk.found.concat(missed.map(one => "Tab does not reach " + named(one)),
      early.slice(0, 1).map(one => "out of order: " + named(one)),
      strange.filter(one => !scrolls(one)).map(one => "Tab stops at " + named(one)));
  };
  return ways.length;
})()
"""
_SUMMARIES = """
[...document.querySelectorAll("summary")].filter(one => one.checkVisibility({ visibilityProperty: true })).length
"""
_SUMMARY = """
at => {
  window.summary = [...document.querySelectorAll("summary")]
    .filter(one => one.checkVisibility({ visibilityProperty: true }))[at];
  summary.focus();
  return summary.parentElement.open;
}
"""
_SKIP = """
(() => {
  const one = document.activeElement, place = one.getBoundingClientRect();
  return one.matches(".skip") && place.left >= 0 && place.top >= 0 && place.width > 1;
})()
"""
_PAST = """
(() => {
  const main = document.querySelector("main"), now = document.activeElement;
  const isBefore = main.compareDocumentPosition(now) & Node.DOCUMENT_POSITION_PRECEDING;
  return now === document.body || main === now || !isBefore;
})()
"""


async def walked(page: Page) -> list[str]:
    """The problems for a person without a mouse, on the open page or in its open dialog, one line each."""
    await page.emulate_media(reduced_motion="reduce")  # otherwise a page may still be scrolling when it is checked
    found = await _unfolded(page)
    if await page.locator(".skip").count():
        found += await _skipping(page)
    await _walk(page, await page.evaluate(_BEGIN))
    return found + list(await page.evaluate("walked.end()"))


async def _walk(page: Page, count: int) -> None:
    """Press Tab until nothing new gets focus. Scrolling regions get focus too, and a date field has several parts."""
    presses, seen = count + 1, -1
    while seen != (now := await page.evaluate("walked.seen.length")):
        for _ in range(presses):
            await page.keyboard.press("Tab")
        presses, seen = PARTS_OF_A_DATE, now


async def _unfolded(page: Page) -> list[str]:
    """Check that each folded part opens with Enter and closes with Space, and leave it open."""
    found, at = [], 0
    while at < await page.evaluate(_SUMMARIES):
        was = await page.evaluate(_SUMMARY, at)
        states = []
        for key in ("Enter", "Space"):
            await page.keyboard.press(key)
            states.append(await page.evaluate("summary.parentElement.open"))
        if states != [not was, was]:
            found.append(f"Enter and Space make of {was}: {states}, at summary {at}")
        await page.evaluate("summary.parentElement.open = !summary.closest('.languages')")
        at += 1
    return found


async def _skipping(page: Page) -> list[str]:
    """Check that the first Tab stop is a link that skips the navigation."""
    await page.evaluate(_BEGIN)
    await page.keyboard.press("Tab")
    if not await page.evaluate(_SKIP):
        return ["the first stop does not lead to the content"]
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    past = await page.evaluate(_PAST)
    await page.evaluate("walked.end()")
    return [] if past else ["the link to the content leads before it"]
