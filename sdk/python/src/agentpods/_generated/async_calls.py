"""Every operation of the API, one method each. Generated from openapi.yaml: `make sdk` writes it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Literal

from agentpods._async.connection import AsyncConnection
from agentpods._generated import types
from agentpods._wire.call import ApiCall, in_path, new_key
from agentpods._wire.sse import ServerEvent


class AsyncCalls:
    """Every operation of the API. Names and bodies are those of the API's reference."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def list_a2a_agents(
        self, *, cursor: str | None = None, fields: str | None = None, limit: int | None = None, q: str | None = None
    ) -> types.A2aCatalogEnvelope:
        """List the agents whose owners opted in, for other agents to find: `GET /a2a-catalog`."""
        reply: types.A2aCatalogEnvelope = (
            await self._connection.reply(
                ApiCall("GET", "/a2a-catalog", query={"cursor": cursor, "fields": fields, "limit": limit, "q": q})
            )
        ).body()
        return reply

    def each_of_a2a_agents(
        self, *, fields: str | None = None, limit: int | None = None, q: str | None = None
    ) -> AsyncGenerator[types.A2aListing, None]:
        """List the agents whose owners opted in, for other agents to find: `GET /a2a-catalog`."""
        return self._connection.rows(
            ApiCall("GET", "/a2a-catalog", query={"fields": fields, "limit": limit, "q": q}), "agents"
        )

    async def list_agents(
        self,
        *,
        cursor: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        status: Literal["provisioning", "running", "stopped", "failed"] | None = None,
    ) -> types.AgentsEnvelope:
        """List your agents, newest first, without deleted ones: `GET /agents`."""
        reply: types.AgentsEnvelope = (
            await self._connection.reply(
                ApiCall("GET", "/agents", query={"cursor": cursor, "fields": fields, "limit": limit, "status": status})
            )
        ).body()
        return reply

    def each_of_agents(
        self,
        *,
        fields: str | None = None,
        limit: int | None = None,
        status: Literal["provisioning", "running", "stopped", "failed"] | None = None,
    ) -> AsyncGenerator[types.Agent, None]:
        """List your agents, newest first, without deleted ones: `GET /agents`."""
        return self._connection.rows(
            ApiCall("GET", "/agents", query={"fields": fields, "limit": limit, "status": status}), "agents"
        )

    async def create_agent(
        self,
        body: types.CreateAgentRequest,
        *,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
        wait: int | None = None,
    ) -> types.CreatedAgentEnvelope:
        """Create an agent: `POST /agents`."""
        reply: types.CreatedAgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    "/agents",
                    query={"dryRun": dry_run},
                    headers={
                        "Idempotency-Key": idempotency_key or new_key(),
                        "Prefer": f"wait={wait}" if wait else None,
                    },
                    body=body,
                )
            )
        ).body()
        return reply

    async def get_agent(self, id: str, *, fields: str | None = None, wait: int | None = None) -> types.AgentEnvelope:
        """Read one agent: `GET /agents/{id}`."""
        reply: types.AgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET",
                    f"/agents/{in_path(id)}",
                    query={"fields": fields},
                    headers={"Prefer": f"wait={wait}" if wait else None},
                )
            )
        ).body()
        return reply

    async def update_agent(
        self, id: str, body: types.PatchAgentRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.AgentEnvelope:
        """Change plain settings: name, lang, timezone, extraSoul, tier: `PATCH /agents/{id}`."""
        reply: types.AgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PATCH",
                    f"/agents/{in_path(id)}",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def delete_agent(
        self, id: str, *, dry_run: bool | None = None, if_match: str | None = None, wait: int | None = None
    ) -> None:
        """Delete an agent with its data, for good: `DELETE /agents/{id}`."""
        await self._connection.reply(
            ApiCall(
                "DELETE",
                f"/agents/{in_path(id)}",
                query={"dryRun": dry_run},
                headers={"If-Match": if_match, "Prefer": f"wait={wait}" if wait else None},
            )
        )

    async def set_agent_a2a(
        self, id: str, body: types.PutA2aRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.AgentEnvelope:
        """Switch agent-to-agent traffic, opt in to `GET /a2a-catalog`, name the agent's peers, or make another token: `PUT /agents/{id}/a2a`."""
        reply: types.AgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PUT",
                    f"/agents/{in_path(id)}/a2a",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def list_agent_backups(self, id: str, *, fields: str | None = None) -> types.BackupsEnvelope:
        """The agent's backups, the newest first: `GET /agents/{id}/backups`."""
        reply: types.BackupsEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/agents/{in_path(id)}/backups", query={"fields": fields}))
        ).body()
        return reply

    async def create_agent_backup(
        self, id: str, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.BackupEnvelope:
        """Back up the agent's data now: `POST /agents/{id}/backups`."""
        reply: types.BackupEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST", f"/agents/{in_path(id)}/backups", query={"dryRun": dry_run}, headers={"If-Match": if_match}
                )
            )
        ).body()
        return reply

    async def get_agent_backup(self, id: str, name: str) -> bytes:
        """The backup as a tar.gz. An archive that could not be sent whole breaks off: `GET /agents/{id}/backups/{name}`."""
        return (await self._connection.reply(ApiCall("GET", f"/agents/{in_path(id)}/backups/{in_path(name)}"))).content

    async def delete_agent_backup(
        self, id: str, name: str, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> None:
        """Delete this backup. 409 while the agent is being restored from it: `DELETE /agents/{id}/backups/{name}`."""
        await self._connection.reply(
            ApiCall(
                "DELETE",
                f"/agents/{in_path(id)}/backups/{in_path(name)}",
                query={"dryRun": dry_run},
                headers={"If-Match": if_match},
            )
        )

    async def restore_agent_backup(
        self, id: str, name: str, *, dry_run: bool | None = None, if_match: str | None = None, wait: int | None = None
    ) -> types.AgentEnvelope:
        """Put this backup in the place of the agent's data: `POST /agents/{id}/backups/{name}/restore`."""
        reply: types.AgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    f"/agents/{in_path(id)}/backups/{in_path(name)}/restore",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match, "Prefer": f"wait={wait}" if wait else None},
                )
            )
        ).body()
        return reply

    async def set_agent_channels(
        self, id: str, body: types.ChannelsRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.AgentEnvelope:
        """Set the channels and, where given, their secrets: `PUT /agents/{id}/channels`."""
        reply: types.AgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PUT",
                    f"/agents/{in_path(id)}/channels",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def chat_with_agent(self, id: str, body: types.ChatRequest, *, if_match: str | None = None) -> types.Reply:
        """Say something to the agent and wait for its reply: `POST /agents/{id}/chat`."""
        reply: types.Reply = (
            await self._connection.reply(
                ApiCall("POST", f"/agents/{in_path(id)}/chat", headers={"If-Match": if_match}, body=body)
            )
        ).body()
        return reply

    def stream_chat_with_agent(
        self, id: str, body: types.ChatRequest, *, if_match: str | None = None
    ) -> AsyncGenerator[ServerEvent, None]:
        """Say something to the agent and wait for its reply: `POST /agents/{id}/chat`."""
        return self._connection.events(
            ApiCall("POST", f"/agents/{in_path(id)}/chat", headers={"If-Match": if_match}, body=body)
        )

    async def set_agent_domain(
        self, id: str, body: types.PutDomainRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.AgentDomainEnvelope:
        """Give the agent a hostname of your own, in place of the one it has: `PUT /agents/{id}/domain`."""
        reply: types.AgentDomainEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PUT",
                    f"/agents/{in_path(id)}/domain",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def delete_agent_domain(self, id: str, *, dry_run: bool | None = None, if_match: str | None = None) -> None:
        """Give the agent's own hostname back: `DELETE /agents/{id}/domain`."""
        await self._connection.reply(
            ApiCall(
                "DELETE", f"/agents/{in_path(id)}/domain", query={"dryRun": dry_run}, headers={"If-Match": if_match}
            )
        )

    async def get_agent_egress(self, id: str, *, fields: str | None = None) -> types.EgressEnvelope:
        """Tell which hosts the agent's engine may ask, and which secrets its gateway adds for it: `GET /agents/{id}/egress`."""
        reply: types.EgressEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/agents/{in_path(id)}/egress", query={"fields": fields}))
        ).body()
        return reply

    async def set_agent_egress(
        self, id: str, body: types.PutEgressRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.EgressEnvelope:
        """Set the list of hosts that the agent's engine may ask, and switch it on or off. Secrets stay: `PUT /agents/{id}/egress`."""
        reply: types.EgressEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PUT",
                    f"/agents/{in_path(id)}/egress",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def get_agent_egress_log(
        self, id: str, *, fields: str | None = None, from_: str | None = None, to: str | None = None
    ) -> types.EgressLogEnvelope:
        """Tell which hosts the agent's engine asked for through the broker, by day, with counts and bytes: `GET /agents/{id}/egress/log`."""
        reply: types.EgressLogEnvelope = (
            await self._connection.reply(
                ApiCall("GET", f"/agents/{in_path(id)}/egress/log", query={"fields": fields, "from": from_, "to": to})
            )
        ).body()
        return reply

    async def set_agent_egress_secret(
        self,
        id: str,
        name: str,
        body: types.PutEgressSecretRequest,
        *,
        dry_run: bool | None = None,
        if_match: str | None = None,
    ) -> types.EgressEnvelope:
        """Set a secret that the gateway adds to the engine's requests to some hosts, so that the engine never has it: `PUT /agents/{id}/egress/secrets/{name}`."""
        reply: types.EgressEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PUT",
                    f"/agents/{in_path(id)}/egress/secrets/{in_path(name)}",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def delete_agent_egress_secret(
        self, id: str, name: str, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> None:
        """Forget this secret. The gateway stops adding it at once: `DELETE /agents/{id}/egress/secrets/{name}`."""
        await self._connection.reply(
            ApiCall(
                "DELETE",
                f"/agents/{in_path(id)}/egress/secrets/{in_path(name)}",
                query={"dryRun": dry_run},
                headers={"If-Match": if_match},
            )
        )

    async def list_agent_events(
        self, id: str, *, after: str | None = None, fields: str | None = None, limit: int | None = None
    ) -> types.EventsEnvelope:
        """List the agent's events: what a webhook gets, for callers that cannot host one: `GET /agents/{id}/events`."""
        reply: types.EventsEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET", f"/agents/{in_path(id)}/events", query={"after": after, "fields": fields, "limit": limit}
                )
            )
        ).body()
        return reply

    def stream_list_agent_events(
        self,
        id: str,
        *,
        after: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        last_event_id: str | None = None,
    ) -> AsyncGenerator[ServerEvent, None]:
        """List the agent's events: what a webhook gets, for callers that cannot host one: `GET /agents/{id}/events`."""
        return self._connection.events(
            ApiCall(
                "GET",
                f"/agents/{in_path(id)}/events",
                query={"after": after, "fields": fields, "limit": limit},
                headers={"Last-Event-ID": last_event_id},
            )
        )

    async def explain_agent(self, id: str, *, fields: str | None = None) -> types.ExplanationEnvelope:
        """Explain the agent's state: cause, evidence, and the next call to make (null when all is well): `GET /agents/{id}/explain`."""
        reply: types.ExplanationEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/agents/{in_path(id)}/explain", query={"fields": fields}))
        ).body()
        return reply

    async def get_agent_limits(self, id: str, *, fields: str | None = None) -> types.LimitsEnvelope:
        """Tell the limits of the agent's model calls; null is no limit: `GET /agents/{id}/limits`."""
        reply: types.LimitsEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/agents/{in_path(id)}/limits", query={"fields": fields}))
        ).body()
        return reply

    async def set_agent_limits(
        self, id: str, body: types.PutLimitsRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.LimitsEnvelope:
        """Limit what the agent's model calls may take, all limits at once; or stop them with `stopped`: `PUT /agents/{id}/limits`."""
        reply: types.LimitsEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PUT",
                    f"/agents/{in_path(id)}/limits",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def get_agent_liveness(self, id: str, *, fields: str | None = None) -> types.LivenessEnvelope:
        """Tell whether the pod is there and whether it serves: `GET /agents/{id}/liveness`."""
        reply: types.LivenessEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/agents/{in_path(id)}/liveness", query={"fields": fields}))
        ).body()
        return reply

    async def update_agent_llm_key(
        self, id: str, body: types.LlmKeyRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.AgentEnvelope:
        """Install or replace the model key, or change only the model: `PATCH /agents/{id}/llm-key`."""
        reply: types.AgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PATCH",
                    f"/agents/{in_path(id)}/llm-key",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def delete_agent_llm_key(self, id: str, *, dry_run: bool | None = None, if_match: str | None = None) -> None:
        """Remove the model key; the agent then answers but says nothing: `DELETE /agents/{id}/llm-key`."""
        await self._connection.reply(
            ApiCall(
                "DELETE", f"/agents/{in_path(id)}/llm-key", query={"dryRun": dry_run}, headers={"If-Match": if_match}
            )
        )

    async def get_agent_logs(
        self,
        id: str,
        *,
        after: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        source: Literal["bridge", "engine", "gateway"] | None = None,
    ) -> types.LogsEnvelope:
        """Read what the agent's pod says: its engine, the bridge that keeps the engine, and its gateway: `GET /agents/{id}/logs`."""
        reply: types.LogsEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET",
                    f"/agents/{in_path(id)}/logs",
                    query={"after": after, "fields": fields, "limit": limit, "source": source},
                )
            )
        ).body()
        return reply

    def stream_get_agent_logs(
        self,
        id: str,
        *,
        after: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        source: Literal["bridge", "engine", "gateway"] | None = None,
        last_event_id: str | None = None,
    ) -> AsyncGenerator[ServerEvent, None]:
        """Read what the agent's pod says: its engine, the bridge that keeps the engine, and its gateway: `GET /agents/{id}/logs`."""
        return self._connection.events(
            ApiCall(
                "GET",
                f"/agents/{in_path(id)}/logs",
                query={"after": after, "fields": fields, "limit": limit, "source": source},
                headers={"Last-Event-ID": last_event_id},
            )
        )

    async def test_agent_mcp_server(
        self, id: str, body: types.AskMcpServerRequest, *, if_match: str | None = None
    ) -> types.McpTestEnvelope:
        """Ask one of the agent's MCP servers for its tools, from the agent's pod: `POST /agents/{id}/mcp-test`."""
        reply: types.McpTestEnvelope = (
            await self._connection.reply(
                ApiCall("POST", f"/agents/{in_path(id)}/mcp-test", headers={"If-Match": if_match}, body=body)
            )
        ).body()
        return reply

    async def get_agent_memory(self, id: str, *, fields: str | None = None) -> types.MemoryEnvelope:
        """Tell what the agent is and what it has learned: `GET /agents/{id}/memory`."""
        reply: types.MemoryEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/agents/{in_path(id)}/memory", query={"fields": fields}))
        ).body()
        return reply

    async def pause_agent(
        self, id: str, *, dry_run: bool | None = None, if_match: str | None = None, wait: int | None = None
    ) -> types.AgentEnvelope:
        """Stop the pod; its data is kept: `POST /agents/{id}/pause`."""
        reply: types.AgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    f"/agents/{in_path(id)}/pause",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match, "Prefer": f"wait={wait}" if wait else None},
                )
            )
        ).body()
        return reply

    async def get_agent_quota(self, id: str, *, fields: str | None = None) -> types.QuotaEnvelope:
        """Tell how much memory and disk the pod takes of what its tier has: `GET /agents/{id}/quota`."""
        reply: types.QuotaEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/agents/{in_path(id)}/quota", query={"fields": fields}))
        ).body()
        return reply

    async def rebuild_agent(
        self, id: str, *, dry_run: bool | None = None, if_match: str | None = None, wait: int | None = None
    ) -> types.AgentEnvelope:
        """Replace the pod and keep its data: `POST /agents/{id}/rebuild`."""
        reply: types.AgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    f"/agents/{in_path(id)}/rebuild",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match, "Prefer": f"wait={wait}" if wait else None},
                )
            )
        ).body()
        return reply

    async def list_agent_replay(
        self,
        id: str,
        *,
        cursor: str | None = None,
        fields: str | None = None,
        from_: str | None = None,
        kind: Literal["turn.began", "model.call", "tool.call", "turn.ended", "turn.failed", "not.kept"] | None = None,
        limit: int | None = None,
        session: str | None = None,
        to: str | None = None,
    ) -> types.ReplayEnvelope:
        """Read what the agent did: its turns, model calls and the tools that its model asked for, newest first: `GET /agents/{id}/replay`."""
        reply: types.ReplayEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET",
                    f"/agents/{in_path(id)}/replay",
                    query={
                        "cursor": cursor,
                        "fields": fields,
                        "from": from_,
                        "kind": kind,
                        "limit": limit,
                        "session": session,
                        "to": to,
                    },
                )
            )
        ).body()
        return reply

    def each_of_agent_replay(
        self,
        id: str,
        *,
        fields: str | None = None,
        from_: str | None = None,
        kind: Literal["turn.began", "model.call", "tool.call", "turn.ended", "turn.failed", "not.kept"] | None = None,
        limit: int | None = None,
        session: str | None = None,
        to: str | None = None,
    ) -> AsyncGenerator[types.ReplayEntry, None]:
        """Read what the agent did: its turns, model calls and the tools that its model asked for, newest first: `GET /agents/{id}/replay`."""
        return self._connection.rows(
            ApiCall(
                "GET",
                f"/agents/{in_path(id)}/replay",
                query={"fields": fields, "from": from_, "kind": kind, "limit": limit, "session": session, "to": to},
            ),
            "replay",
        )

    async def set_agent_replay(
        self, id: str, body: types.PutReplayRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.ReplaySwitchEnvelope:
        """Switch the recording on or off. It is on until its owner switches it off: `PUT /agents/{id}/replay`."""
        reply: types.ReplaySwitchEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PUT",
                    f"/agents/{in_path(id)}/replay",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def delete_agent_replay(
        self, id: str, *, dry_run: bool | None = None, session: str | None = None, if_match: str | None = None
    ) -> None:
        """Delete what was recorded until now, of one conversation (`session`) or all. It does not come back: `DELETE /agents/{id}/replay`."""
        await self._connection.reply(
            ApiCall(
                "DELETE",
                f"/agents/{in_path(id)}/replay",
                query={"dryRun": dry_run, "session": session},
                headers={"If-Match": if_match},
            )
        )

    async def resume_agent(
        self, id: str, *, dry_run: bool | None = None, if_match: str | None = None, wait: int | None = None
    ) -> types.AgentEnvelope:
        """Start a stopped agent again: `POST /agents/{id}/resume`."""
        reply: types.AgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    f"/agents/{in_path(id)}/resume",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match, "Prefer": f"wait={wait}" if wait else None},
                )
            )
        ).body()
        return reply

    async def test_agent_talk(self, id: str, *, if_match: str | None = None) -> types.TalkTestEnvelope:
        """Send one word through gateway, engine and model, and look at each channel: which hop is silent, and why: `POST /agents/{id}/talk-test`."""
        reply: types.TalkTestEnvelope = (
            await self._connection.reply(
                ApiCall("POST", f"/agents/{in_path(id)}/talk-test", headers={"If-Match": if_match})
            )
        ).body()
        return reply

    async def get_agent_term(self, id: str, *, fields: str | None = None) -> types.TermEnvelope:
        """Tell what an agent runs on, and until when: `GET /agents/{id}/term`."""
        reply: types.TermEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/agents/{in_path(id)}/term", query={"fields": fields}))
        ).body()
        return reply

    async def create_agent_ticket(
        self, id: str, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.TicketEnvelope:
        """Make a link that opens the pod's own page for a person: once, within 60 seconds: `POST /agents/{id}/ticket`."""
        reply: types.TicketEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST", f"/agents/{in_path(id)}/ticket", query={"dryRun": dry_run}, headers={"If-Match": if_match}
                )
            )
        ).body()
        return reply

    async def set_agent_tools(
        self, id: str, body: types.PutAgentToolsRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.AgentEnvelope:
        """Set the toolsets and MCP servers, all of them at once: `PUT /agents/{id}/tools`."""
        reply: types.AgentEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PUT",
                    f"/agents/{in_path(id)}/tools",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def get_agent_usage(
        self,
        id: str,
        *,
        by: Literal["day", "model", "session", "key"] | None = None,
        fields: str | None = None,
        from_: str | None = None,
        to: str | None = None,
    ) -> types.UsageEnvelope:
        """Tell what the agent's model calls took: tokens, and USD by the catalog's prices: `GET /agents/{id}/usage`."""
        reply: types.UsageEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET", f"/agents/{in_path(id)}/usage", query={"by": by, "fields": fields, "from": from_, "to": to}
                )
            )
        ).body()
        return reply

    async def complete_agent_chat(
        self,
        id: str,
        body: types.CompletionRequestRequest,
        *,
        if_match: str | None = None,
        session_id: str | None = None,
    ) -> types.Completion:
        """Talk to the agent as any client of OpenAI's protocol does: `POST /agents/{id}/v1/chat/completions`."""
        reply: types.Completion = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    f"/agents/{in_path(id)}/v1/chat/completions",
                    headers={"If-Match": if_match, "Session-Id": session_id},
                    body=body,
                )
            )
        ).body()
        return reply

    def stream_complete_agent_chat(
        self,
        id: str,
        body: types.CompletionRequestRequest,
        *,
        if_match: str | None = None,
        session_id: str | None = None,
    ) -> AsyncGenerator[ServerEvent, None]:
        """Talk to the agent as any client of OpenAI's protocol does: `POST /agents/{id}/v1/chat/completions`."""
        return self._connection.events(
            ApiCall(
                "POST",
                f"/agents/{in_path(id)}/v1/chat/completions",
                headers={"If-Match": if_match, "Session-Id": session_id},
                body=body,
            )
        )

    async def list_agent_models(self, id: str, *, fields: str | None = None) -> types.AgentModels:
        """List the one model of OpenAI's protocol that there is: the agent: `GET /agents/{id}/v1/models`."""
        reply: types.AgentModels = (
            await self._connection.reply(ApiCall("GET", f"/agents/{in_path(id)}/v1/models", query={"fields": fields}))
        ).body()
        return reply

    async def get_agent_model(self, id: str, model: str, *, fields: str | None = None) -> types.AgentModel:
        """Show the agent as a model of OpenAI's protocol: `GET /agents/{id}/v1/models/{model}`."""
        reply: types.AgentModel = (
            await self._connection.reply(
                ApiCall("GET", f"/agents/{in_path(id)}/v1/models/{in_path(model)}", query={"fields": fields})
            )
        ).body()
        return reply

    async def set_agent_webhook(
        self, id: str, body: types.ReceiverRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.AgentWebhookEnvelope:
        """Set the receiver of the agent's events, or rotate its secret: `PUT /agents/{id}/webhook`."""
        reply: types.AgentWebhookEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PUT",
                    f"/agents/{in_path(id)}/webhook",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def delete_agent_webhook(self, id: str, *, dry_run: bool | None = None, if_match: str | None = None) -> None:
        """Remove the webhook: `DELETE /agents/{id}/webhook`."""
        await self._connection.reply(
            ApiCall(
                "DELETE", f"/agents/{in_path(id)}/webhook", query={"dryRun": dry_run}, headers={"If-Match": if_match}
            )
        )

    async def list_agent_webhook_deliveries(
        self, id: str, *, cursor: str | None = None, fields: str | None = None, limit: int | None = None
    ) -> types.DeliveriesEnvelope:
        """List what became of the agent's events on their way to its webhook: `GET /agents/{id}/webhook/deliveries`."""
        reply: types.DeliveriesEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET",
                    f"/agents/{in_path(id)}/webhook/deliveries",
                    query={"cursor": cursor, "fields": fields, "limit": limit},
                )
            )
        ).body()
        return reply

    def each_of_agent_webhook_deliveries(
        self, id: str, *, fields: str | None = None, limit: int | None = None
    ) -> AsyncGenerator[types.Delivery, None]:
        """List what became of the agent's events on their way to its webhook: `GET /agents/{id}/webhook/deliveries`."""
        return self._connection.rows(
            ApiCall("GET", f"/agents/{in_path(id)}/webhook/deliveries", query={"fields": fields, "limit": limit}),
            "deliveries",
        )

    async def redeliver_agent_webhook_delivery(
        self, id: str, delivery: str, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.WebhookDeliveryEnvelope:
        """Send an event again and wait for its outcome: `POST /agents/{id}/webhook/deliveries/{delivery}/redeliver`."""
        reply: types.WebhookDeliveryEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    f"/agents/{in_path(id)}/webhook/deliveries/{in_path(delivery)}/redeliver",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                )
            )
        ).body()
        return reply

    async def test_agent_webhook(
        self, id: str, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.WebhookDeliveryEnvelope:
        """Send a `test` event with all retries and wait for its outcome: `POST /agents/{id}/webhook/test`."""
        reply: types.WebhookDeliveryEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    f"/agents/{in_path(id)}/webhook/test",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                )
            )
        ).body()
        return reply

    async def end_session(self, *, dry_run: bool | None = None) -> None:
        """Sign out: `POST /auth/logout`."""
        await self._connection.reply(ApiCall("POST", "/auth/logout", query={"dryRun": dry_run}))

    async def request_sign_in_code(self, body: types.SignInCodeRequest) -> types.Requested:
        """Mail a sign-in code: `POST /auth/request`."""
        reply: types.Requested = (await self._connection.reply(ApiCall("POST", "/auth/request", body=body))).body()
        return reply

    async def verify_sign_in_code(self, body: types.VerifyRequest) -> types.Verified:
        """Exchange a sign-in code for a session token: `POST /auth/verify`."""
        reply: types.Verified = (await self._connection.reply(ApiCall("POST", "/auth/verify", body=body))).body()
        return reply

    async def get_billing_details(self, *, fields: str | None = None) -> types.BillingDetailsEnvelope:
        """Read what stands on your invoices from now on; empty where you have said nothing: `GET /billing-details`."""
        reply: types.BillingDetailsEnvelope = (
            await self._connection.reply(ApiCall("GET", "/billing-details", query={"fields": fields}))
        ).body()
        return reply

    async def set_billing_details(
        self, body: types.BillingDetailsRequest, *, dry_run: bool | None = None
    ) -> types.BillingDetailsEnvelope:
        """Say what stands on your invoices from now on. What is issued keeps what it has: `PUT /billing-details`."""
        reply: types.BillingDetailsEnvelope = (
            await self._connection.reply(ApiCall("PUT", "/billing-details", query={"dryRun": dry_run}, body=body))
        ).body()
        return reply

    async def get_crypto(self, *, fields: str | None = None) -> types.CryptoEnvelope:
        """Tell whether stablecoins can be paid with, in which, and on which chain: `GET /crypto`."""
        reply: types.CryptoEnvelope = (
            await self._connection.reply(ApiCall("GET", "/crypto", query={"fields": fields}))
        ).body()
        return reply

    async def list_crypto_orders(
        self,
        *,
        agent_id: str | None = None,
        cursor: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        status: Literal["pending", "paid", "expired"] | None = None,
    ) -> types.CryptoOrdersEnvelope:
        """List your orders, newest first: `GET /crypto/orders`."""
        reply: types.CryptoOrdersEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET",
                    "/crypto/orders",
                    query={"agentId": agent_id, "cursor": cursor, "fields": fields, "limit": limit, "status": status},
                )
            )
        ).body()
        return reply

    def each_of_crypto_orders(
        self,
        *,
        agent_id: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        status: Literal["pending", "paid", "expired"] | None = None,
    ) -> AsyncGenerator[types.CryptoOrder, None]:
        """List your orders, newest first: `GET /crypto/orders`."""
        return self._connection.rows(
            ApiCall(
                "GET", "/crypto/orders", query={"agentId": agent_id, "fields": fields, "limit": limit, "status": status}
            ),
            "orders",
        )

    async def create_crypto_order(
        self, body: types.CreateCryptoOrderRequest, *, dry_run: bool | None = None, idempotency_key: str | None = None
    ) -> types.CryptoOrderEnvelope:
        """Order a month or a year of a plan, to be paid in a stablecoin: `POST /crypto/orders`."""
        reply: types.CryptoOrderEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    "/crypto/orders",
                    query={"dryRun": dry_run},
                    headers={"Idempotency-Key": idempotency_key or new_key()},
                    body=body,
                )
            )
        ).body()
        return reply

    async def get_crypto_order(self, id: str, *, fields: str | None = None) -> types.CryptoOrderEnvelope:
        """Read one order: `paid` once its money is final, `expired` when none came within a day: `GET /crypto/orders/{id}`."""
        reply: types.CryptoOrderEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/crypto/orders/{in_path(id)}", query={"fields": fields}))
        ).body()
        return reply

    async def check_domain(
        self, *, domain: str, fields: str | None = None, https: bool | None = None
    ) -> types.DomainCheckEnvelope:
        """Tell where a hostname leads, before or after an agent has it: `GET /domain-check`."""
        reply: types.DomainCheckEnvelope = (
            await self._connection.reply(
                ApiCall("GET", "/domain-check", query={"domain": domain, "fields": fields, "https": https})
            )
        ).body()
        return reply

    async def list_engines(self, *, fields: str | None = None) -> types.Engines:
        """List the engines: `GET /engines`."""
        reply: types.Engines = (
            await self._connection.reply(ApiCall("GET", "/engines", query={"fields": fields}))
        ).body()
        return reply

    async def list_events(
        self, *, after: str | None = None, fields: str | None = None, limit: int | None = None
    ) -> types.EventsEnvelope:
        """List the events of all your agents, deleted ones too: `GET /events`."""
        reply: types.EventsEnvelope = (
            await self._connection.reply(
                ApiCall("GET", "/events", query={"after": after, "fields": fields, "limit": limit})
            )
        ).body()
        return reply

    def stream_list_events(
        self,
        *,
        after: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        last_event_id: str | None = None,
    ) -> AsyncGenerator[ServerEvent, None]:
        """List the events of all your agents, deleted ones too: `GET /events`."""
        return self._connection.events(
            ApiCall(
                "GET",
                "/events",
                query={"after": after, "fields": fields, "limit": limit},
                headers={"Last-Event-ID": last_event_id},
            )
        )

    async def get_health(self, *, fields: str | None = None) -> types.Health:
        """Whether the process is up: `GET /health`."""
        reply: types.Health = (await self._connection.reply(ApiCall("GET", "/health", query={"fields": fields}))).body()
        return reply

    async def get_readiness(self, *, fields: str | None = None) -> types.Readiness:
        """Whether the process can serve requests: `GET /health/ready`."""
        reply: types.Readiness = (
            await self._connection.reply(ApiCall("GET", "/health/ready", query={"fields": fields}))
        ).body()
        return reply

    async def list_invoices(
        self,
        *,
        agent_id: str | None = None,
        cursor: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
    ) -> types.InvoicesEnvelope:
        """List your invoices and credit notes, newest first: `GET /invoices`."""
        reply: types.InvoicesEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET", "/invoices", query={"agentId": agent_id, "cursor": cursor, "fields": fields, "limit": limit}
                )
            )
        ).body()
        return reply

    def each_of_invoices(
        self, *, agent_id: str | None = None, fields: str | None = None, limit: int | None = None
    ) -> AsyncGenerator[types.Invoice, None]:
        """List your invoices and credit notes, newest first: `GET /invoices`."""
        return self._connection.rows(
            ApiCall("GET", "/invoices", query={"agentId": agent_id, "fields": fields, "limit": limit}), "invoices"
        )

    async def get_invoice(self, id: str, *, fields: str | None = None) -> types.InvoiceEnvelope:
        """Read one invoice or credit note. It never changes: `GET /invoices/{id}`."""
        reply: types.InvoiceEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/invoices/{in_path(id)}", query={"fields": fields}))
        ).body()
        return reply

    async def get_invoice_pdf(self, id: str) -> bytes:
        """Read one invoice or credit note as PDF, in the language of its agent: `GET /invoices/{id}/pdf`."""
        return (await self._connection.reply(ApiCall("GET", f"/invoices/{in_path(id)}/pdf"))).content

    async def list_keys(self, *, cursor: str | None = None, fields: str | None = None) -> types.Keys:
        """List your API keys: `GET /keys`."""
        reply: types.Keys = (
            await self._connection.reply(ApiCall("GET", "/keys", query={"cursor": cursor, "fields": fields}))
        ).body()
        return reply

    def each_of_keys(self, *, fields: str | None = None) -> AsyncGenerator[types.ApiKey, None]:
        """List your API keys: `GET /keys`."""
        return self._connection.rows(ApiCall("GET", "/keys", query={"fields": fields}), "keys")

    async def create_key(self, body: types.KeyNameRequest, *, dry_run: bool | None = None) -> types.NewKey:
        """Create an API key: `POST /keys`."""
        reply: types.NewKey = (
            await self._connection.reply(ApiCall("POST", "/keys", query={"dryRun": dry_run}, body=body))
        ).body()
        return reply

    async def delete_key(self, id: str, *, dry_run: bool | None = None) -> None:
        """Revoke an API key: `DELETE /keys/{id}`."""
        await self._connection.reply(ApiCall("DELETE", f"/keys/{in_path(id)}", query={"dryRun": dry_run}))

    async def get_key_limits(self, id: str, *, fields: str | None = None) -> types.KeyLimitsEnvelope:
        """Tell what model calls may cost in turns that the API key starts, and what they have cost; null is no limit: `GET /keys/{id}/limits`."""
        reply: types.KeyLimitsEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/keys/{in_path(id)}/limits", query={"fields": fields}))
        ).body()
        return reply

    async def set_key_limits(
        self, id: str, body: types.PutKeyLimitsRequest, *, dry_run: bool | None = None
    ) -> types.KeyLimitsEnvelope:
        """Limit what model calls may cost in turns that the API key starts, with all agents together: `PUT /keys/{id}/limits`."""
        reply: types.KeyLimitsEnvelope = (
            await self._connection.reply(
                ApiCall("PUT", f"/keys/{in_path(id)}/limits", query={"dryRun": dry_run}, body=body)
            )
        ).body()
        return reply

    async def list_llm_providers(
        self,
        *,
        engine: Literal["claude-code", "hermes", "n8n", "openclaw", "opencode", "pi"] | None = None,
        fields: str | None = None,
    ) -> types.LlmProviders:
        """List the LLM providers: `GET /llm-providers`."""
        reply: types.LlmProviders = (
            await self._connection.reply(ApiCall("GET", "/llm-providers", query={"engine": engine, "fields": fields}))
        ).body()
        return reply

    async def get_account(self, *, fields: str | None = None) -> types.Me:
        """Tell whose token this is: `GET /me`."""
        reply: types.Me = (await self._connection.reply(ApiCall("GET", "/me", query={"fields": fields}))).body()
        return reply

    async def get_author(self, *, fields: str | None = None) -> types.AuthorEnvelope:
        """Tell under which name your personas appear: `GET /me/author`."""
        reply: types.AuthorEnvelope = (
            await self._connection.reply(ApiCall("GET", "/me/author", query={"fields": fields}))
        ).body()
        return reply

    async def set_author(self, body: types.RenameAuthorRequest, *, dry_run: bool | None = None) -> types.AuthorEnvelope:
        """Choose the name under which your personas appear: `PUT /me/author`."""
        reply: types.AuthorEnvelope = (
            await self._connection.reply(ApiCall("PUT", "/me/author", query={"dryRun": dry_run}, body=body))
        ).body()
        return reply

    async def get_account_limits(self, *, fields: str | None = None) -> types.AccountLimitsEnvelope:
        """Tell the limits of the model calls of all your agents together; null is no limit: `GET /me/limits`."""
        reply: types.AccountLimitsEnvelope = (
            await self._connection.reply(ApiCall("GET", "/me/limits", query={"fields": fields}))
        ).body()
        return reply

    async def set_account_limits(
        self, body: types.PutAccountLimitsRequest, *, dry_run: bool | None = None
    ) -> types.AccountLimitsEnvelope:
        """Limit what the model calls of all your agents may take together; or stop them all with `stopped`: `PUT /me/limits`."""
        reply: types.AccountLimitsEnvelope = (
            await self._connection.reply(ApiCall("PUT", "/me/limits", query={"dryRun": dry_run}, body=body))
        ).body()
        return reply

    async def list_own_personas(self, *, fields: str | None = None) -> types.Personas:
        """List the personas that you wrote, newest first, drafts too: `GET /me/personas`."""
        reply: types.Personas = (
            await self._connection.reply(ApiCall("GET", "/me/personas", query={"fields": fields}))
        ).body()
        return reply

    async def get_own_persona(self, id: str, *, fields: str | None = None) -> types.OwnPersonaPage:
        """Read a persona that you wrote, a draft too: `GET /me/personas/{id}`."""
        reply: types.OwnPersonaPage = (
            await self._connection.reply(ApiCall("GET", f"/me/personas/{in_path(id)}", query={"fields": fields}))
        ).body()
        return reply

    async def get_own_persona_article(self, id: str, slug: str, *, fields: str | None = None) -> types.ArticleEnvelope:
        """Read an article of yours, a draft too, with its body: `GET /me/personas/{id}/articles/{slug}`."""
        reply: types.ArticleEnvelope = (
            await self._connection.reply(
                ApiCall("GET", f"/me/personas/{in_path(id)}/articles/{in_path(slug)}", query={"fields": fields})
            )
        ).body()
        return reply

    async def list_models(
        self,
        *,
        fields: str | None = None,
        provider: Literal[
            "anthropic", "deepseek", "gemini", "google", "groq", "mistral", "nous", "openai", "openrouter", "xai"
        ]
        | None = None,
    ) -> types.Models:
        """List the models: `GET /models`."""
        reply: types.Models = (
            await self._connection.reply(ApiCall("GET", "/models", query={"fields": fields, "provider": provider}))
        ).body()
        return reply

    async def get_payment_providers(self, *, fields: str | None = None) -> types.PaymentProvidersEnvelope:
        """List the ways to pay: `GET /payment-providers`."""
        reply: types.PaymentProvidersEnvelope = (
            await self._connection.reply(ApiCall("GET", "/payment-providers", query={"fields": fields}))
        ).body()
        return reply

    async def list_personas(
        self,
        *,
        category: Literal["study", "creative", "gaming", "career", "life", "social", "tech", "fun", ""] | None = None,
        cursor: str | None = None,
        fields: str | None = None,
        lang: Literal["en", "ru", "es", "pt", "tr", "ind", ""] | None = None,
        limit: int | None = None,
        q: str | None = None,
        tier: Literal["tiny", "small", "medium", "large", ""] | None = None,
    ) -> types.Personas:
        """List, filter and search the personas: `GET /personas`."""
        reply: types.Personas = (
            await self._connection.reply(
                ApiCall(
                    "GET",
                    "/personas",
                    query={
                        "category": category,
                        "cursor": cursor,
                        "fields": fields,
                        "lang": lang,
                        "limit": limit,
                        "q": q,
                        "tier": tier,
                    },
                )
            )
        ).body()
        return reply

    def each_of_personas(
        self,
        *,
        category: Literal["study", "creative", "gaming", "career", "life", "social", "tech", "fun", ""] | None = None,
        fields: str | None = None,
        lang: Literal["en", "ru", "es", "pt", "tr", "ind", ""] | None = None,
        limit: int | None = None,
        q: str | None = None,
        tier: Literal["tiny", "small", "medium", "large", ""] | None = None,
    ) -> AsyncGenerator[types.Persona, None]:
        """List, filter and search the personas: `GET /personas`."""
        return self._connection.rows(
            ApiCall(
                "GET",
                "/personas",
                query={"category": category, "fields": fields, "lang": lang, "limit": limit, "q": q, "tier": tier},
            ),
            "personas",
        )

    async def create_persona(
        self, body: types.DraftPersonaRequest, *, dry_run: bool | None = None
    ) -> types.PersonaEnvelope:
        """Write a persona: `POST /personas`."""
        reply: types.PersonaEnvelope = (
            await self._connection.reply(ApiCall("POST", "/personas", query={"dryRun": dry_run}, body=body))
        ).body()
        return reply

    async def get_persona(self, id: str, *, fields: str | None = None) -> types.PersonaPage:
        """Read a persona: `GET /personas/{id}`."""
        reply: types.PersonaPage = (
            await self._connection.reply(ApiCall("GET", f"/personas/{in_path(id)}", query={"fields": fields}))
        ).body()
        return reply

    async def update_persona(
        self, id: str, body: types.PatchPersonaRequest, *, dry_run: bool | None = None
    ) -> types.PersonaEnvelope:
        """Change a persona of yours: `PATCH /personas/{id}`."""
        reply: types.PersonaEnvelope = (
            await self._connection.reply(
                ApiCall("PATCH", f"/personas/{in_path(id)}", query={"dryRun": dry_run}, body=body)
            )
        ).body()
        return reply

    async def delete_persona(self, id: str, *, dry_run: bool | None = None) -> None:
        """Delete a persona of yours, for good: `DELETE /personas/{id}`."""
        await self._connection.reply(ApiCall("DELETE", f"/personas/{in_path(id)}", query={"dryRun": dry_run}))

    async def create_persona_article(
        self, id: str, body: types.WriteArticleRequest, *, dry_run: bool | None = None
    ) -> types.ArticleEnvelope:
        """Write an article about a persona of yours: `POST /personas/{id}/articles`."""
        reply: types.ArticleEnvelope = (
            await self._connection.reply(
                ApiCall("POST", f"/personas/{in_path(id)}/articles", query={"dryRun": dry_run}, body=body)
            )
        ).body()
        return reply

    async def get_persona_article(self, id: str, slug: str, *, fields: str | None = None) -> types.ArticleEnvelope:
        """Read an article: `GET /personas/{id}/articles/{slug}`."""
        reply: types.ArticleEnvelope = (
            await self._connection.reply(
                ApiCall("GET", f"/personas/{in_path(id)}/articles/{in_path(slug)}", query={"fields": fields})
            )
        ).body()
        return reply

    async def update_persona_article(
        self, id: str, slug: str, body: types.PatchArticleRequest, *, dry_run: bool | None = None
    ) -> types.ArticleEnvelope:
        """Change an article of yours: `PATCH /personas/{id}/articles/{slug}`."""
        reply: types.ArticleEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PATCH", f"/personas/{in_path(id)}/articles/{in_path(slug)}", query={"dryRun": dry_run}, body=body
                )
            )
        ).body()
        return reply

    async def delete_persona_article(self, id: str, slug: str, *, dry_run: bool | None = None) -> None:
        """Delete an article of yours, for good: `DELETE /personas/{id}/articles/{slug}`."""
        await self._connection.reply(
            ApiCall("DELETE", f"/personas/{in_path(id)}/articles/{in_path(slug)}", query={"dryRun": dry_run})
        )

    async def publish_persona(self, id: str, *, dry_run: bool | None = None) -> types.PersonaEnvelope:
        """Publish a persona of yours: `POST /personas/{id}/publish`."""
        reply: types.PersonaEnvelope = (
            await self._connection.reply(ApiCall("POST", f"/personas/{in_path(id)}/publish", query={"dryRun": dry_run}))
        ).body()
        return reply

    async def unpublish_persona(self, id: str, *, dry_run: bool | None = None) -> types.PersonaEnvelope:
        """Take a persona of yours off the catalog: `POST /personas/{id}/unpublish`."""
        reply: types.PersonaEnvelope = (
            await self._connection.reply(
                ApiCall("POST", f"/personas/{in_path(id)}/unpublish", query={"dryRun": dry_run})
            )
        ).body()
        return reply

    async def get_stars(self, *, fields: str | None = None) -> types.StarsEnvelope:
        """Tell whether Telegram Stars can be paid with, and what a star is worth here: `GET /stars`."""
        reply: types.StarsEnvelope = (
            await self._connection.reply(ApiCall("GET", "/stars", query={"fields": fields}))
        ).body()
        return reply

    async def list_stars_orders(
        self,
        *,
        agent_id: str | None = None,
        cursor: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        status: Literal["pending", "paid", "expired"] | None = None,
    ) -> types.StarsOrdersEnvelope:
        """List your orders, newest first: `GET /stars/orders`."""
        reply: types.StarsOrdersEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET",
                    "/stars/orders",
                    query={"agentId": agent_id, "cursor": cursor, "fields": fields, "limit": limit, "status": status},
                )
            )
        ).body()
        return reply

    def each_of_stars_orders(
        self,
        *,
        agent_id: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        status: Literal["pending", "paid", "expired"] | None = None,
    ) -> AsyncGenerator[types.StarsOrder, None]:
        """List your orders, newest first: `GET /stars/orders`."""
        return self._connection.rows(
            ApiCall(
                "GET", "/stars/orders", query={"agentId": agent_id, "fields": fields, "limit": limit, "status": status}
            ),
            "orders",
        )

    async def create_stars_order(
        self, body: types.CreateStarsOrderRequest, *, dry_run: bool | None = None, idempotency_key: str | None = None
    ) -> types.StarsOrderEnvelope:
        """Order a month or a year of a plan, to be paid in Telegram Stars: `POST /stars/orders`."""
        reply: types.StarsOrderEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    "/stars/orders",
                    query={"dryRun": dry_run},
                    headers={"Idempotency-Key": idempotency_key or new_key()},
                    body=body,
                )
            )
        ).body()
        return reply

    async def get_stars_order(self, id: str, *, fields: str | None = None) -> types.StarsOrderEnvelope:
        """Read one order: `paid` once its stars have come in, `expired` when nobody paid within the hour: `GET /stars/orders/{id}`."""
        reply: types.StarsOrderEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/stars/orders/{in_path(id)}", query={"fields": fields}))
        ).body()
        return reply

    async def get_status(self, *, fields: str | None = None) -> types.Platform:
        """The platform's health, always 200: `GET /status`."""
        reply: types.Platform = (
            await self._connection.reply(ApiCall("GET", "/status", query={"fields": fields}))
        ).body()
        return reply

    async def list_status_incidents(self, *, fields: str | None = None) -> types.Incidents:
        """The newest 100 incidents, open and resolved, newest first: `GET /status/incidents`."""
        reply: types.Incidents = (
            await self._connection.reply(ApiCall("GET", "/status/incidents", query={"fields": fields}))
        ).body()
        return reply

    async def list_stripe_orders(
        self,
        *,
        agent_id: str | None = None,
        cursor: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        status: Literal["pending", "paid", "expired"] | None = None,
    ) -> types.StripeOrdersEnvelope:
        """List your orders, newest first: `GET /stripe/orders`."""
        reply: types.StripeOrdersEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET",
                    "/stripe/orders",
                    query={"agentId": agent_id, "cursor": cursor, "fields": fields, "limit": limit, "status": status},
                )
            )
        ).body()
        return reply

    def each_of_stripe_orders(
        self,
        *,
        agent_id: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
        status: Literal["pending", "paid", "expired"] | None = None,
    ) -> AsyncGenerator[types.StripeOrder, None]:
        """List your orders, newest first: `GET /stripe/orders`."""
        return self._connection.rows(
            ApiCall(
                "GET", "/stripe/orders", query={"agentId": agent_id, "fields": fields, "limit": limit, "status": status}
            ),
            "orders",
        )

    async def create_stripe_order(
        self, body: types.CreateStripeOrderRequest, *, dry_run: bool | None = None, idempotency_key: str | None = None
    ) -> types.StripeOrderEnvelope:
        """Order a plan, to be paid by card for each month or year: `POST /stripe/orders`."""
        reply: types.StripeOrderEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    "/stripe/orders",
                    query={"dryRun": dry_run},
                    headers={"Idempotency-Key": idempotency_key or new_key()},
                    body=body,
                )
            )
        ).body()
        return reply

    async def get_stripe_order(self, id: str, *, fields: str | None = None) -> types.StripeOrderEnvelope:
        """Read one order: `paid` once its card was charged, `expired` when nobody paid within the hour: `GET /stripe/orders/{id}`."""
        reply: types.StripeOrderEnvelope = (
            await self._connection.reply(ApiCall("GET", f"/stripe/orders/{in_path(id)}", query={"fields": fields}))
        ).body()
        return reply

    async def open_stripe_portal(self, *, dry_run: bool | None = None) -> types.PortalEnvelope:
        """Open Stripe's page where a person changes the card, reads Stripe's receipts and cancels: `POST /stripe/portal`."""
        reply: types.PortalEnvelope = (
            await self._connection.reply(ApiCall("POST", "/stripe/portal", query={"dryRun": dry_run}))
        ).body()
        return reply

    async def list_subscriptions(
        self,
        *,
        agent_id: str | None = None,
        cursor: str | None = None,
        fields: str | None = None,
        limit: int | None = None,
    ) -> types.SubscriptionsEnvelope:
        """List your subscriptions, newest first, with their licence keys: `GET /subscriptions`."""
        reply: types.SubscriptionsEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET",
                    "/subscriptions",
                    query={"agentId": agent_id, "cursor": cursor, "fields": fields, "limit": limit},
                )
            )
        ).body()
        return reply

    def each_of_subscriptions(
        self, *, agent_id: str | None = None, fields: str | None = None, limit: int | None = None
    ) -> AsyncGenerator[types.Subscription, None]:
        """List your subscriptions, newest first, with their licence keys: `GET /subscriptions`."""
        return self._connection.rows(
            ApiCall("GET", "/subscriptions", query={"agentId": agent_id, "fields": fields, "limit": limit}),
            "subscriptions",
        )

    async def create_subscription(
        self, body: types.CreateSubscriptionRequest, *, dry_run: bool | None = None, idempotency_key: str | None = None
    ) -> types.SubscriptionEnvelope:
        """Pay for an agent with a licence key: `POST /subscriptions`."""
        reply: types.SubscriptionEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    "/subscriptions",
                    query={"dryRun": dry_run},
                    headers={"Idempotency-Key": idempotency_key or new_key()},
                    body=body,
                )
            )
        ).body()
        return reply

    async def cancel_subscription(
        self, id: str, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.SubscriptionEnvelope:
        """Cancel a subscription: `POST /subscriptions/{id}/cancel`."""
        reply: types.SubscriptionEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    f"/subscriptions/{in_path(id)}/cancel",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                )
            )
        ).body()
        return reply

    async def create_subscription_move(
        self, id: str, body: types.MoveSubscriptionRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.SubscriptionEnvelope:
        """Move a deleted agent's paid time: `POST /subscriptions/{id}/move`."""
        reply: types.SubscriptionEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "POST",
                    f"/subscriptions/{in_path(id)}/move",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def get_subscription_next_plan(self, id: str, *, fields: str | None = None) -> types.NextPlanEnvelope:
        """Tell which plan follows when the paid time ends: `GET /subscriptions/{id}/next-plan`."""
        reply: types.NextPlanEnvelope = (
            await self._connection.reply(
                ApiCall("GET", f"/subscriptions/{in_path(id)}/next-plan", query={"fields": fields})
            )
        ).body()
        return reply

    async def set_subscription_next_plan(
        self, id: str, body: types.ChooseNextPlanRequest, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> types.NextPlanEnvelope:
        """Choose a smaller plan for the time after what is paid: `PUT /subscriptions/{id}/next-plan`."""
        reply: types.NextPlanEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "PUT",
                    f"/subscriptions/{in_path(id)}/next-plan",
                    query={"dryRun": dry_run},
                    headers={"If-Match": if_match},
                    body=body,
                )
            )
        ).body()
        return reply

    async def delete_subscription_next_plan(
        self, id: str, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> None:
        """Keep the plan after all: `DELETE /subscriptions/{id}/next-plan`."""
        await self._connection.reply(
            ApiCall(
                "DELETE",
                f"/subscriptions/{in_path(id)}/next-plan",
                query={"dryRun": dry_run},
                headers={"If-Match": if_match},
            )
        )

    async def get_subscription_quote(
        self,
        *,
        agent_id: str,
        period: Literal["monthly", "annual"],
        provider: Literal["gumroad", "lemonsqueezy", "usdt", "usdc", "stars", "stripe"],
        coupon: str | None = None,
        fields: str | None = None,
        tier: Literal["tiny", "small", "medium", "large"] | None = None,
    ) -> types.QuoteEnvelope:
        """Tell what a period would cost, and until when the agent would be paid: `GET /subscriptions/quote`."""
        reply: types.QuoteEnvelope = (
            await self._connection.reply(
                ApiCall(
                    "GET",
                    "/subscriptions/quote",
                    query={
                        "agentId": agent_id,
                        "coupon": coupon,
                        "fields": fields,
                        "period": period,
                        "provider": provider,
                        "tier": tier,
                    },
                )
            )
        ).body()
        return reply

    async def list_tiers(self, *, fields: str | None = None) -> types.Tiers:
        """List the plans: `GET /tiers`."""
        reply: types.Tiers = (await self._connection.reply(ApiCall("GET", "/tiers", query={"fields": fields}))).body()
        return reply

    async def list_tools(
        self,
        *,
        engine: Literal["claude-code", "hermes", "n8n", "openclaw", "opencode", "pi"] | None = None,
        fields: str | None = None,
    ) -> types.Tools:
        """List the toolsets: `GET /tools`."""
        reply: types.Tools = (
            await self._connection.reply(ApiCall("GET", "/tools", query={"engine": engine, "fields": fields}))
        ).body()
        return reply
