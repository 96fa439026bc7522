// Names for the parts of Django's forms that have none, so that a screen reader says what they are.
const named = (element, name) => element && element.setAttribute("aria-label", name);
const labelOf = (element) => {
  const row = element.closest("fieldset.flex-container, .form-row");
  const label = row && row.querySelector("label, legend");
  return label ? label.textContent.trim().replace(/:$/, "") : "";
};

for (const pair of document.querySelectorAll("p.datetime")) {
  const [date, time] = pair.querySelectorAll("input");
  named(date, `${labelOf(pair)}: date`);
  named(time, `${labelOf(pair)}: time`);
}

for (const empty of document.querySelectorAll("th:empty, .inline-group th:not(:has(*))")) {
  if (empty.textContent.trim()) continue;
  const name = document.createElement("span");
  name.className = "visually-hidden";
  name.textContent = empty.classList.contains("original") ? "Row" : "Steps";
  empty.append(name);
}

// Select2 draws its own box after this script has run, and Django its two lists when the page has loaded.
window.django?.jQuery?.(() => {
  for (const choice of document.querySelectorAll("select.admin-autocomplete")) {
    const box = choice.nextElementSibling;
    for (const part of box ? box.querySelectorAll(".select2-selection, .select2-selection__rendered") : []) {
      named(part, labelOf(choice));
    }
  }
});
addEventListener("load", () => {
  for (const icon of document.querySelectorAll(".help-tooltip[aria-label]")) icon.setAttribute("role", "img");
});
