// While an order waits, /renew/{id} follows it: the changing part of the page is fetched again, less and less often if
// nothing happens. Without this script, people see the same part when they reload the page.
"use strict";

(() => {
  const FIRST = 3000, MOST = 30000, SLOWER = 1.4;
  let wait = FIRST, timer = 0;

  const now = () => document.getElementById("now");

  function dress(part) {
    part.querySelectorAll("[data-with-script]").forEach((one) => { one.hidden = false; });
    if (!navigator.clipboard) return;
    part.querySelectorAll("[data-copy]").forEach((button) => {
      button.hidden = false;
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
          button.classList.add("done");
        } catch { // not allowed: the person can select the text
          button.hidden = true;
        }
      });
    });
  }

  // Only changed parts are replaced, so that people who read or select the address are not disturbed.
  function show(fresh) {
    const old = now();
    if (fresh.dataset.state !== old.dataset.state) {
      old.replaceWith(fresh);
      dress(fresh);
      return true;
    }
    const [was, is] = [old, fresh].map((part) => part.querySelector("#progress"));
    if (!was || !is || was.innerHTML === is.innerHTML) return false;
    was.replaceChildren(...is.childNodes);
    return true;
  }

  async function look() {
    const place = now().dataset.live;
    if (!place) return;
    try {
      const answer = await fetch(place, { credentials: "same-origin", cache: "no-store" });
      if (answer.redirected || answer.status === 404) return location.reload(); // signed out, or the agent is deleted
      if (!answer.ok) throw new Error(answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      wait = show(page.getElementById("now")) ? FIRST : Math.min(wait * SLOWER, MOST);
    } catch { // no connection for a moment
      wait = Math.min(wait * 2, MOST);
    }
    later();
  }

  function later() {
    clearTimeout(timer);
    if (now().dataset.live && !document.hidden) timer = setTimeout(look, wait);
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden) { wait = FIRST; look(); }
  });
  dress(document);
  later();
})();
