// Shows Markdown of an agent safely: a worker reads it, it is sanitised here, and it is never set as markup.

const TEXT_CHARACTERS = 65536;
const LOADING_MS = 20000;
const READING_MS = 2000;
const COPIED_MS = 2500;

const BLOCKS = ["p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre"];
const TABLES = ["table", "thead", "tbody", "tr", "th", "td"];
const RULES = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: [...BLOCKS, ...TABLES, "code", "em", "strong", "s", "a"],
  ALLOWED_ATTR: ["href", "start", "class"],
  ADD_URI_SAFE_ATTR: ["start"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.localName !== "a" || !node.hasAttribute("href")) return;
  node.target = "_blank";
  node.rel = "noopener noreferrer nofollow";
  node.title = node.href; // shows the real address, whatever the text says
});

let reader = null;
let lastReading = Promise.resolve();

// Only for this address: the page's policy allows no other text as a script.
function scriptAddress() {
  const address = "/assets/markdown.js";
  if (!window.trustedTypes) return address;
  return trustedTypes.createPolicy("markdown", { createScriptURL: () => address }).createScriptURL("");
}
const READER = scriptAddress();

function startReader() {
  const worker = new Worker(READER);
  const answer = (milliseconds) =>
    new Promise((done) => {
      const end = () => {
        worker.terminate();
        reader = null;
        done(null);
      };
      const clock = setTimeout(end, milliseconds);
      worker.onerror = end;
      worker.onmessage = ({ data }) => {
        clearTimeout(clock);
        done(data);
      };
    });
  const ready = answer(LOADING_MS);
  return async (text) => {
    if (!(await ready)) return null;
    const read = answer(READING_MS);
    worker.postMessage(text);
    return read;
  };
}

// Starts the reader before there is text, so that it is ready for the first words.
function awaitReader() {
  try {
    reader = reader || startReader();
  } catch {
    // No worker in this browser: texts are shown unchanged.
  }
}

async function htmlOf(text) {
  try {
    awaitReader();
    return await reader(text);
  } catch {
    return null; // no worker in this browser
  }
}

// The text as elements, or null if it must be shown unchanged: too long, too slow to read, or no reader.
async function readMarkdown(text) {
  if (text.length > TEXT_CHARACTERS) return null;
  const reading = lastReading.then(() => htmlOf(text));
  lastReading = reading;
  const html = await reading;
  return html === null ? null : DOMPurify.sanitize(html, RULES);
}

// Long lines can be scrolled by keyboard too.
function reachable(node) {
  if (node.scrollWidth > node.clientWidth) node.tabIndex = 0;
}

function element(tag, className, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

// When an answer is complete, its code gets a copy button, and its tables can be scrolled.
function finishReading(said) {
  for (const pre of said.querySelectorAll("pre")) {
    const language = /^language-(.+)/.exec(pre.firstElementChild?.className || "");
    const bar = element("div", "bar");
    bar.append(element("span", "", language ? language[1] : ""), copyButton(pre));
    const block = element("div", "code");
    pre.replaceWith(block);
    block.append(bar, pre);
    reachable(pre);
  }
  for (const table of said.querySelectorAll("table")) {
    const room = element("div", "table");
    table.replaceWith(room);
    room.append(table);
    reachable(room);
  }
}

function copyButton(pre) {
  const button = element("button", "copy", words.copy);
  button.type = "button";
  button.addEventListener("click", async () => {
    button.textContent = (await copied(pre)) ? words.copied : words.not_copied;
    announce(button.textContent);
    setTimeout(() => (button.textContent = words.copy), COPIED_MS);
  });
  return button;
}

async function copied(pre) {
  try {
    await navigator.clipboard.writeText(pre.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(pre); // without HTTPS a page has no clipboard: the text is selected
    return false;
  }
}

// For screen readers: they get whole sentences, not every new word.
function announce(text) {
  document.getElementById("announced").textContent = text;
}
