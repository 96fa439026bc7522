// The chat page's Markdown reader, in a worker of its own. If a text takes too long, the worker is ended and the page
// continues. It follows markdown-it's code in the same file. HTML in the text stays text, and the page sanitises the
// result before it is shown.

const HTML_CHARACTERS = 262144;
const ELEMENTS = 6000; // 64 KiB of prose have about 2,000; a table of 16,000 cells takes seconds to show
const DEEPEST = 40; // levels; a list uses two. Deeper content is left out
const LAST_HEADING = 6;

const parser = markdownit("commonmark", { html: false, breaks: true, linkify: true, maxNesting: DEEPEST });
parser.enable(["table", "strikethrough", "linkify"]);
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });

// The page has headings of its own, and its policy allows no `style`.
parser.core.ruler.push("fit", (state) => {
  for (const token of state.tokens) {
    if (/^heading_/.test(token.type)) token.tag = "h" + Math.min(Number(token.tag[1]) + 2, LAST_HEADING);
    if (/^t[hd]_open$/.test(token.type)) {
      const side = /right|center/.exec(token.attrGet("style") || "");
      token.attrs = side ? [["class", "to-" + side[0]]] : null;
    }
  }
});

// A picture becomes a link, so that no other host is asked until the reader follows it.
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
