"""What the demo has a service reach: a model provider, a seller of licence keys, and a chain with a stablecoin on it.

The last two are the ones that the project's own tests pay at. A receiver of webhooks is not among them: it has no
setting but the network that it lies in.
"""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Self

from examples.model_server import ModelServer
from tests.doubles.chain import CHAIN_ID, Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.wallet import XPUB, first_address

TIER = "tiny"
PRODUCT = "agentpods-tiny"


class Outside:
    """Listens from its creation on, at the port and the two after it; leaving the block ends all of it."""

    def __init__(self, port: int = 0) -> None:
        self.model = ModelServer(_free(port))
        self.gumroad = GumroadServer(_free(port and port + 1))
        # Blocks are numbered by the second, so that no chain is behind the one of the demo before it.
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
        """The environment of a service that is to reach it, and webhook receivers on this machine."""
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
        """Somebody buys a month by card, and gets this key. A purchase has a name that no other ever had."""
        paid = {"price": int(Decimal(str(usd)) * 100), "sale_id": f"sale-{key}", "subscription_id": f"membership-{key}"}
        self.gumroad.sell(key, PRODUCT, sold_at=datetime.now(UTC).isoformat(), purchase=paid)


def _free(port: int) -> int:
    """That port, or where it is taken, any: then only a service that is started for it can reach it."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return 0
    return port
