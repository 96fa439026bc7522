"""`python -m benchmarks.baseline.posts TIMES URL…`: plain POSTs with the sender's library, to compare deliveries with.

As many run at a time as the sender has slots, each on its own connection, with one TLS context. No rows, no signature,
no check of the address. The program waits for a line on standard input, posts, and prints a line; it ends with its
input.
"""

from __future__ import annotations

import asyncio
import ssl
import sys

import aiohttp

AT_A_TIME = 100
BODY = b"x" * 600


async def post_all(times: int, urls: list[str], tls: ssl.SSLContext) -> None:
    places = asyncio.Semaphore(AT_A_TIME)
    connector = aiohttp.TCPConnector(limit=0, force_close=True, ssl=tls)

    async def post(session: aiohttp.ClientSession, url: str) -> None:
        async with places:
            response = await session.post(url, data=BODY, headers={"X-Service-Delivery": "evt_0"})
            response.close()

    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(post(session, urls[number % len(urls)]) for number in range(times)))


if __name__ == "__main__":
    context = ssl.create_default_context()
    for _ in sys.stdin:
        asyncio.run(post_all(int(sys.argv[1]), sys.argv[2:], context))
        print("done", flush=True)
