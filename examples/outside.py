"""The servers that the service reaches during the demo: a model provider, a seller of licence keys, and a blockchain.

The project's own tests also pay at the seller and on the chain, which has a stablecoin. The webhook receiver is not
here: the service needs no setting for it except the network in which it lies.
"""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, Self

from examples.model_server import SmallModelServer
from tests.doubles.chain import CHAIN_ID, Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.wallet import XPUB, first_address

TIER: Final = "tiny"
PRODUCT = "agentpods-tiny"


class Outside:
    """Servers that listen as soon as they are created, on `port` and the next two ports, until the block ends."""

    def __init__(self, port: int = 0) -> None:
        self.model = SmallModelServer(_free(port))
        self.gumroad = GumroadServer(_free(port and port + 1))
        # The number of the first block is the time in seconds, so each demo's chain is ahead of the chain of an earlier
        # demo.
        self.chain = Chain(_free(port and port + 2), first_block=int(time.time()))
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.callback(self.model.server_close)
        self._open.callback(self.model.shutdown)
        self._open.callback(self.chain.stop)
        self._open.enter_context(self.gumroad)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def settings(self) -> dict[str, str]:
        """The environment of a service that reaches these servers and webhook receivers on this machine."""
        usdt = self.chain.usdt
        return {
            "LLM_BASE_URLS": f"openai={self.model.base_url}",
            "WEBHOOK_ALLOWED_CIDRS": "127.0.0.0/8",
            "GUMROAD_URL": self.gumroad.url,
            "GUMROAD_PRODUCTS": f"{TIER}={PRODUCT}",
            "CRYPTO_RPC_URLS": self.chain.url,
            "CRYPTO_CHAIN_ID": str(CHAIN_ID),
            "CRYPTO_XPUB": XPUB,
            "CRYPTO_FIRST_ADDRESS": first_address(),
            "CRYPTO_TOKENS": f"usdt={usdt.address}:{usdt.decimals}:USDT",
        }

    def sell(self, key: str, *, usd: Any) -> None:
        """Sell this licence key for a month, paid by card. The ids of the purchase are new each time."""
        paid = {"price": int(Decimal(str(usd)) * 100), "sale_id": f"sale-{key}", "subscription_id": f"membership-{key}"}
        self.gumroad.sell(key, PRODUCT, sold_at=datetime.now(UTC).isoformat(), purchase=paid)


def _free(port: int) -> int:
    """This port, or 0 (any port) if it is taken. Then only a service that is started for this demo knows the port."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return 0
    return port
