// Loads the slow parts of a page after the page itself. Without scripts, a link leads to each part.
for (const place of document.querySelectorAll("[data-part]")) {
  const link = place.querySelector("a");
  const waiting = document.createElement("p");
  waiting.textContent = "Loading…";
  place.append(waiting);
  fetch(place.dataset.part, { credentials: "same-origin", redirect: "error", signal: AbortSignal.timeout(15000) })
    .then((answer) => (answer.ok ? answer.text() : Promise.reject(answer.status)))
    .then((text) => {
      const part = new DOMParser().parseFromString(text, "text/html").querySelector("#content-main");
      place.replaceChildren(part || link);
      if (part) part.removeAttribute("id");
    })
    .catch(() => {
      waiting.textContent = "This part did not answer.";
    });
}
