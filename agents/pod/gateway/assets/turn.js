// One turn on the page: who said what, drawn while it arrives, and files, links and data of the answer.

const DRAW_EVERY_MS = 250;
const DRAWING_SHARE = 9; // after drawing, the page rests nine times as long
const SHOWN_CHARACTERS = 262144;
const SHOWN_LINES = 5000;
const scroller = document.querySelector("main");

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// A message. An agent's words are drawn as they arrive, and as Markdown as soon as the reader can read them.
class Turn {
  constructor(who, text = "") {
    this.who = who;
    this.text = text.slice(0, SHOWN_CHARACTERS);
    this.given = [];
    this.isBusy = false;
    this.isPlain = who !== "agent";
    this.node = element("div", "turn " + who);
    this.said = element("div", "said plain", fewLines(this.text));
    this.drawn = this.isPlain ? this.text : "";
    this.node.append(element("b", "", who === "you" ? words.you : words.name), this.said);
  }

  // Text beyond the shown limit is dropped, because an answer may never end.
  add(more) {
    if (this.text.length < SHOWN_CHARACTERS) this.set(this.text + more);
  }

  set(text) {
    this.text = text.slice(0, SHOWN_CHARACTERS);
    this.start();
  }

  start() {
    this.drawing = this.drawing || this.draw().finally(() => (this.drawing = null));
    return this.drawing;
  }

  give(part) {
    const near = isNearEnd();
    this.given.push(label(part));
    this.node.append(given(part));
    follow(near);
  }

  busy(on) {
    this.isBusy = on;
    this.node.setAttribute("aria-busy", String(on));
    if (!on && this.wake) this.wake();
  }

  // Draws the rest of the text, with what a complete answer has.
  async finish() {
    this.busy(false);
    while (this.drawn !== this.text || this.drawing) await this.start();
    const near = isNearEnd();
    if (!this.isPlain) finishReading(this.said);
    follow(near);
  }

  // One drawing at a time. Text that arrives meanwhile is in the next drawing.
  async draw() {
    while (this.drawn !== this.text) {
      const text = this.text;
      const began = performance.now();
      if (!this.isRead) this.show(text);
      const read = this.isPlain ? null : await this.read(text);
      if (!(this.isBusy && this.isHeld)) {
        this.isPlain = this.isPlain || !read;
        this.show(read || text);
        this.isRead = Boolean(read);
        this.drawn = text;
      }
      if (this.isBusy) await this.rest(Math.max(DRAW_EVERY_MS, DRAWING_SHARE * (performance.now() - began)));
    }
  }

  // Until the reader is loaded, which may take long on a slow line, the plain text is shown.
  async read(text) {
    const reading = readMarkdown(text);
    while (!this.isRead && (await Promise.race([reading, pause(DRAW_EVERY_MS)])) === undefined) this.show(this.text);
    return reading;
  }

  show(content) {
    const near = isNearEnd();
    this.said.classList.toggle("plain", typeof content === "string");
    this.said.replaceChildren(typeof content === "string" ? fewLines(content) : content);
    follow(near);
  }

  rest(milliseconds) {
    return new Promise((done) => {
      this.wake = done;
      setTimeout(done, milliseconds);
    });
  }

  // The person has selected text of this turn, or has the focus on one of its links.
  get isHeld() {
    const marked = getSelection();
    return (!marked.isCollapsed && marked.containsNode(this.said, true)) || this.said.contains(document.activeElement);
  }

  get isEmpty() {
    return !this.text && !this.given.length;
  }

  // Of files, links and data, only the names are kept.
  get kept() {
    return { who: this.who, text: [this.text, ...this.given].filter(Boolean).join("\n"), isCut: this.isBusy };
  }
}

// A page needs seconds for as many lines as an answer may have, so the number is limited.
function fewLines(text) {
  const lines = text.split("\n", SHOWN_LINES + 1);
  return lines.length > SHOWN_LINES ? lines.slice(0, SHOWN_LINES).join("\n") + "\n…" : text;
}

function label(part) {
  if (part.kind === "data") return JSON.stringify(part.data, null, 2);
  return part.kind === "note" ? part.text : `${part.name} (${part.media_type})`;
}

// A file is only saved and never opened here, whatever its type says. A link opens only when the reader follows it.
function given(part) {
  const line = element("p", "given");
  const isLink = part.kind === "link" && /^https?:\/\//.test(part.url);
  if (part.kind !== "file" && !isLink) {
    line.textContent = label(part);
    return line;
  }
  const link = element("a", "", label(part));
  if (isLink) {
    link.href = part.url;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  } else {
    const bytes = Uint8Array.from(atob(part.bytes), (one) => one.charCodeAt(0));
    link.href = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
    link.download = part.name;
  }
  line.append(link);
  return line;
}

function isNearEnd() {
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 120;
}

function follow(near) {
  if (near) scroller.scrollTop = scroller.scrollHeight;
}
