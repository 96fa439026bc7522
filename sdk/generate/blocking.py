"""Makes the blocking half of the Python SDK from its asynchronous half, word by word.

So each rule is written once. The words are few and whole: what the table does not name stays.
"""

from __future__ import annotations

import re

WORDS = {
    "async def": "def",
    "async for": "for",
    "async with": "with",
    "await ": "",
    "import asyncio": "import time",
    "asyncio.sleep": "time.sleep",
    "AsyncIterator": "Iterator",
    "AsyncGenerator": "Generator",
    "aclosing": "closing",
    "asynccontextmanager": "contextmanager",
    "AsyncClient": "Client",
    "aiter_bytes": "iter_bytes",
    "aclose": "close",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "agentpods._async": "agentpods._sync",
    "_generated.async_calls": "_generated.calls",
    "asynchronous": "blocking",
}
OURS = re.compile(r"\bAsync(?=[A-Z])")  # a class of ours: `AsyncAgents` is `Agents`


def blocking(source: str) -> str:
    """The blocking form of a module's text."""
    words = re.compile("|".join(re.escape(word) for word in sorted(WORDS, key=len, reverse=True)))
    return OURS.sub("", words.sub(lambda found: WORDS[found[0]], source))
