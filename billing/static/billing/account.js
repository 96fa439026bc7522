// What the account's pages do better with a script. All of them work without.
"use strict";

async function copy(text) {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text.textContent);
  }
  getSelection().selectAllChildren(text); // an address without TLS has no clipboard of its own
  document.execCommand("copy");
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await copy(text).catch(() => getSelection().selectAllChildren(text));
    button.textContent = button.dataset.copied;
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}
