// The chat page's reader of Markdown, in a worker of its own: a text that takes too long ends with the worker, and the
// page goes on. It follows markdown-it's code in the same file. No HTML of the text becomes HTML; what comes out is
// sanitised by the page before it is shown.

const HTML_CHARACTERS = 262144;
const ELEMENTS = 6000; // 64 KiB of prose have some 2,000; a table of 16,000 cells takes a page seconds
const DEEPEST = 40; // levels; a list has two of them. What lies deeper is left out
const LAST_HEADING = 6;

const parser = markdownit("commonmark", { html: false, breaks: true, linkify: true, maxNesting: DEEPEST });
parser.enable(["table", "strikethrough", "linkify"]);
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });

// The page has headings of its own, and its policy takes no `style`.
parser.core.ruler.push("fit", (state) => {
  for (const token of state.tokens) {
    if (/^heading_/.test(token.type)) token.tag = "h" + Math.min(Number(token.tag[1]) + 2, LAST_HEADING);
    if (/^t[hd]_open$/.test(token.type)) {
      const side = /right|center/.exec(token.attrGet("style") || "");
      token.attrs = side ? [["class", "to-" + side[0]]] : null;
    }
  }
});

// A picture is a link: nothing is asked of another host until the reader follows it.
parser.renderer.rules.image = (tokens, index) => {
  const { escapeHtml } = parser.utils;
  const where = tokens[index].attrGet("src") || "";
  return `<a href="${escapeHtml(where)}">${escapeHtml(tokens[index].content || where)}</a>`;
};

onmessage = ({ data }) => {
  const html = parser.render(data);
  const isTooMuch = html.length > HTML_CHARACTERS || html.split(/<\w/, ELEMENTS + 2).length > ELEMENTS + 1;
  postMessage(isTooMuch ? null : html);
};
postMessage("ready");
