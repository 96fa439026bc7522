"""Where an agent's events are sent. `agentpods.webhooks.verified` checks what arrives there."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from agentpods._generated import types
from agentpods._generated.async_calls import AsyncCalls


class AsyncWebhookCalls:
    def __init__(self, api: AsyncCalls) -> None:
        self._api = api

    async def set(self, agent_id: str, url: str) -> types.Webhook:
        """Send the events there. `secret` is shown this once; the same call makes a new one."""
        return (await self._api.set_agent_webhook(agent_id, {"url": url}))["webhook"]

    async def delete(self, agent_id: str) -> None:
        await self._api.delete_agent_webhook(agent_id)

    async def test(self, agent_id: str) -> types.WebhookDelivery:
        """Send an event `test`, and wait for the outcome: about a minute if the receiver is dead."""
        return (await self._api.test_agent_webhook(agent_id))["delivery"]

    def deliveries(self, agent_id: str) -> AsyncGenerator[types.Delivery, None]:
        return self._api.each_of_agent_webhook_deliveries(agent_id)

    async def redeliver(self, agent_id: str, delivery_id: str) -> types.WebhookDelivery:
        return (await self._api.redeliver_agent_webhook_delivery(agent_id, delivery_id))["delivery"]
