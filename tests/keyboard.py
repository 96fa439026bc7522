"""A page by its keyboard alone: where Tab leads, what is seen there, and what Enter and Space do."""

from __future__ import annotations

import json
from typing import Any

from tests.browser import Browser

KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " "), "Escape": (27, "")}
PARTS_OF_A_DATE = 5
# What can be pressed, chosen or filled in, in the order of the document; of radio buttons the one that Tab stops at.
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
  document.documentElement.style.scrollBehavior = "auto";
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
(() => {
  window.summary = [...document.querySelectorAll("summary")]
    .filter(one => one.checkVisibility({ visibilityProperty: true }))[%d];
  summary.focus();
  return summary.parentElement.open;
})()
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


async def press(browser: Browser, key: str, *, times: int = 1) -> None:
    code, text = KEYS[key]
    pressed: dict[str, Any] = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
    down = {"type": "keyDown" if text else "rawKeyDown", "text": text, **pressed}
    await browser.calls("Input.dispatchKeyEvent", [down, {"type": "keyUp", **pressed}] * times)


async def walked(browser: Browser) -> list[str]:
    """What is wrong for whoever has no mouse, on the page that is open or in its open dialog, a line each."""
    found = await _unfolded(browser)
    if await _said(browser, "document.querySelector('.skip') !== null"):
        found += await _skipping(browser)
    await _walk(browser, await _said(browser, _BEGIN))
    return found + list(json.loads(await _said(browser, "JSON.stringify(walked.end())")))


async def _walk(browser: Browser, count: int) -> None:
    """Until Tab leads to nothing new. Regions that scroll are stops of the browser's own, and a date has several."""
    presses, seen = count + 1, -1
    while seen != (now := await _said(browser, "walked.seen.length")):
        await press(browser, "Tab", times=presses)
        presses, seen = PARTS_OF_A_DATE, now


async def _unfolded(browser: Browser) -> list[str]:
    """Each part that is folded opens by Enter and closes by Space, and is left open."""
    found, at = [], 0
    while at < await _said(browser, _SUMMARIES):
        was = await _said(browser, _SUMMARY % at)
        states = []
        for key in ("Enter", " "):
            await press(browser, key)
            states.append(await _said(browser, "summary.parentElement.open"))
        if states != [not was, was]:
            found.append(f"Enter and Space make of {was}: {states}, at summary {at}")
        await _said(browser, "summary.parentElement.open = !summary.closest('.languages')")
        at += 1
    return found


async def _skipping(browser: Browser) -> list[str]:
    """The first stop leads past the navigation."""
    await _said(browser, _BEGIN)
    await press(browser, "Tab")
    if not await _said(browser, _SKIP):
        return ["the first stop does not lead to the content"]
    await press(browser, "Enter")
    await press(browser, "Tab")
    past = await _said(browser, _PAST)
    await _said(browser, "walked.end(), 1")
    return [] if past else ["the link to the content leads before it"]


async def _said(browser: Browser, expression: str) -> Any:
    told = await browser.call("Runtime.evaluate", expression=expression, returnByValue=True)
    assert "exceptionDetails" not in told, told
    return told["result"].get("value")
