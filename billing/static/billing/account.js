// Improvements of the account's pages. All pages work without this script.
"use strict";

const TOLD_MS = 2000;
const SENT_TWICE_MS = 3000;

async function copied(text) {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text.textContent).then(() => true, () => false);
  }
  return false; // without TLS there is no clipboard
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    if (!(await copied(text))) {
      getSelection().selectAllChildren(text); // the person can copy the selected text
      return;
    }
    button.textContent = button.dataset.copied;
    setTimeout(() => { button.textContent = label; }, TOLD_MS);
  });
}

// Ignores the second click of a double click: it would replace the first answer, the only one with a new key's secret.
const sent = new WeakMap();
document.addEventListener("submit", (event) => {
  const now = performance.now();
  if (now - (sent.get(event.target) ?? -Infinity) < SENT_TWICE_MS) {
    event.preventDefault();
    return;
  }
  sent.set(event.target, now);
});

// While something is in progress, the page is loaded again: less and less often, and not in a hidden tab.
const FIRST_LOOK_MS = 2000, LAST_LOOK_MS = 30000, SLOWER = 1.2;
let lookMs = FIRST_LOOK_MS;

async function lookAgain() {
  if (document.hidden) {
    lookSoon();
    return;
  }
  const answer = await fetch(location.href);
  if (!answer.ok || answer.redirected) {
    throw new Error(`the page answers ${answer.status}`); // the link to reload is shown again
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const shown = document.getElementById("content"), found = page.getElementById("content");
  if (found.textContent !== shown.textContent) { // if nothing changed, keyboard users keep their place
    shown.replaceWith(document.adoptNode(found));
  }
  lookSoon();
}

function lookSoon() {
  const link = document.querySelector("[data-look-again]");
  if (link) {
    link.hidden = true;
    setTimeout(() => lookAgain().catch(() => { link.hidden = false; }), lookMs);
    lookMs = Math.min(lookMs * SLOWER, LAST_LOOK_MS);
  }
}

lookSoon();
