"""Renders an agent as n8n's workflow: a chat trigger, an AI agent with the persona, its model, memory and tools."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.engines.base import PEERS_SERVER, ProxyAccess, mcp_servers
from agents.engines.persona import persona_text
from agents.runtimes.base import PodConfig

Json = dict[str, Any]

# The id of the workflow and of its webhook, and the beginning of the ids of its credentials.
AGENT_ID = "agentpodsagent"
_LANGCHAIN = "@n8n/n8n-nodes-langchain."
AGENT, MODEL, _TRIGGER, _MEMORY = "Agent", "Model", "Message to the agent", "Memory"
# n8n_parts/mcp.cjs recognises the agent's MCP servers by this name.
_SERVER = "{name} (MCP server)"
_PEERS_MILLISECONDS = 95_000
_MCP_MILLISECONDS = 60_000
_MOST_STEPS = 50
_PAGE_CHARACTERS = 40_000
_NOTE = (
    "## This is the agent\nAgentpods writes this workflow anew whenever the agent is changed in its console: what you"
    " change here is lost. Build workflows of your own beside it; they are yours and are left alone."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider:
    node: str  # the n8n node of the model
    version: float
    credential: str
    address: str = "url"  # the credential's field for the address
    ending: str = ""  # the end of the base URL
    parameter: str = "model"
    picked: bool = False  # whether the parameter is chosen from a list


_OPENAI = _Provider(node="lmChatOpenAi", version=1.3, credential="openAiApi", ending="/v1", picked=True)
_GOOGLE = _Provider(
    node="lmChatGoogleGemini", version=1, credential="googlePalmApi", address="host", parameter="modelName"
)
PROVIDERS = {
    "openai": _OPENAI,
    "anthropic": _Provider(node="lmChatAnthropic", version=1.3, credential="anthropicApi", picked=True),
    "openrouter": _Provider(node="lmChatOpenRouter", version=1, credential="openRouterApi", ending="/api/v1"),
    "google": _GOOGLE,
    "gemini": _GOOGLE,
    # n8n's own nodes for Groq and Mistral can call only the vendor. Both vendors speak OpenAI's protocol.
    "groq": _Provider(node="lmChatOpenAi", version=1.3, credential="openAiApi", ending="/openai/v1", picked=True),
    "mistral": _OPENAI,
    "deepseek": _Provider(node="lmChatDeepSeek", version=1, credential="deepSeekApi"),
    "xai": _Provider(node="lmChatXAiGrok", version=1, credential="xAiApi", ending="/v1"),
}
_FETCH = "fetch_page"
TOOLSETS: Mapping[str, tuple[str, ...]] = {"web": (_FETCH,)}
SAFE_TOOLSETS = ("web",)


def agent(config: PodConfig, llm: ProxyAccess) -> Json:
    """The workflow and its credentials. Without a configured model, the workflow has no model node, and nobody calls
    it.
    """
    credentials = [_basics(config, llm)] if _is_asked(config) else []
    nodes = [_trigger(), _persona(config), _memory(), _note()]
    connections = {_TRIGGER: {"main": [[{"node": AGENT, "type": "main", "index": 0}]]}, _MEMORY: _to("ai_memory")}
    if _is_asked(config):
        nodes.append(_model(config))
        connections[MODEL] = _to("ai_languageModel")
    for tool in _tools(config):
        nodes.append(tool)
        connections[tool["name"]] = _to("ai_tool")
    for server in mcp_servers(config, llm):
        headers = _headers(server)
        node = _mcp(server, headers, place=len(nodes))
        credentials += [headers] if headers else []
        nodes.append(node)
        connections[node["name"]] = _to("ai_tool")
    return {"workflow": _workflow(config, nodes, connections), "credentials": credentials}


def _workflow(config: PodConfig, nodes: list[Json], connections: Json) -> Json:
    return {
        "id": AGENT_ID,
        "name": f"{config.name} (kept by Agentpods)",
        "active": True,
        "nodes": nodes,
        "connections": connections,
        "settings": {
            "executionOrder": "v1",
            "saveDataSuccessExecution": "none",  # the memory already stores the conversations
            "saveDataErrorExecution": "all",
            "saveManualExecutions": False,
            "timezone": config.timezone or "UTC",
        },
        "nodeGroups": [],
        "pinData": {},
        "isArchived": False,
    }


def _is_asked(config: PodConfig) -> bool:
    return config.provider in PROVIDERS and bool(config.model)


def _to(kind: str) -> Json:
    return {kind: [[{"node": AGENT, "type": kind, "index": 0}]]}


def _node(name: str, kind: str, version: float, parameters: Json, *, at: tuple[int, int], **more: Any) -> Json:
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{AGENT_ID}/{name}")),
        "name": name,
        "type": kind,
        "typeVersion": version,
        "position": list(at),
        "parameters": parameters,
        **more,
    }


def _text(said: str) -> str:
    """n8n would evaluate a text that starts with `=` as an expression, so a space is put before it."""
    return f" {said}" if said.startswith("=") else said


def _trigger() -> Json:
    options = {"responseMode": "streaming", "allowedOrigins": ""}
    parameters = {"public": True, "mode": "webhook", "authentication": "none", "options": options}
    return _node(_TRIGGER, f"{_LANGCHAIN}chatTrigger", 1.3, parameters, at=(0, 0), webhookId=AGENT_ID)


def _persona(config: PodConfig) -> Json:
    options = {
        "systemMessage": _text(persona_text(config)),
        "maxIterations": _MOST_STEPS,
        "enableStreaming": True,
        "autoSaveHighlightedData": False,
    }
    parameters = {"promptType": "define", "text": "={{ $json.chatInput }}", "options": options}
    return _node(AGENT, f"{_LANGCHAIN}agent", 3.1, parameters, at=(320, 0))


def _memory() -> Json:
    return _node(_MEMORY, "CUSTOM.agentMemory", 1, {"sessionKey": "={{ $json.sessionId }}"}, at=(320, 240))


def _note() -> Json:
    parameters = {"content": _NOTE, "width": 640, "height": 160}
    return _node("Note", "n8n-nodes-base.stickyNote", 1, parameters, at=(0, -240))


def _model(config: PodConfig) -> Json:
    provider = PROVIDERS[config.provider or ""]
    name = _text(config.model or "")
    picked = {"__rl": True, "mode": "id", "value": name}
    parameters: Json = {provider.parameter: picked if provider.picked else name, "options": {}}
    if provider.credential == "openAiApi":
        parameters["responsesApiEnabled"] = False  # few other model servers support that API
    return _node(
        MODEL,
        _LANGCHAIN + provider.node,
        provider.version,
        parameters,
        at=(160, 240),
        credentials={provider.credential: _named(_MODEL_CREDENTIAL)},
    )


_MODEL_CREDENTIAL = f"{AGENT_ID}-model"


def _basics(config: PodConfig, llm: ProxyAccess) -> Json:
    """The credential for the model: the key proxy's address in place of the vendor's, and its token in place of the
    key.
    """
    provider = PROVIDERS[config.provider or ""]
    base = f"{llm.url}/llm/{config.provider}{provider.ending}"
    data = {"apiKey": llm.token, provider.address: base, "allowedHttpRequestDomains": "none"}
    return _credential(_MODEL_CREDENTIAL, provider.credential, data)


def _credential(name: str, kind: str, data: Json) -> Json:
    return {"id": name, "name": f"{name} (kept by Agentpods)", "type": kind, "data": data}


def _named(credential: str) -> Json:
    return {"id": credential, "name": f"{credential} (kept by Agentpods)"}


def _tools(config: PodConfig) -> list[Json]:
    chosen = config.toolsets or SAFE_TOOLSETS
    return [_fetch()] if "web" in chosen else []


def _fetch() -> Json:
    parameters = {
        "toolDescription": "Fetches a page or a file of the web by its address, and gives its text",
        "method": "GET",
        "url": "={{ $fromAI('url', 'The whole address, with http:// or https://', 'string') }}",
        "options": {"timeout": 20_000, "response": {"response": {"responseFormat": "text"}}},
        "optimizeResponse": True,
        "responseType": "html",
        "cssSelector": "body",
        "onlyContent": True,
        "elementsToOmit": "img, script, style, noscript",
        "truncateResponse": True,
        "maxLength": _PAGE_CHARACTERS,
    }
    return _node(_FETCH, "n8n-nodes-base.httpRequestTool", 4.2, parameters, at=(480, 240))


def _mcp(server: Mapping[str, Any], headers: Json | None, *, place: int) -> Json:
    is_peers = server["name"] == PEERS_SERVER
    parameters = {
        "endpointUrl": _text(str(server["url"])),
        "serverTransport": "httpStreamable",
        "authentication": "multipleHeadersAuth" if headers else "none",
        "include": "all",
        "options": {"timeout": _PEERS_MILLISECONDS if is_peers else _MCP_MILLISECONDS},
    }
    more = {"credentials": {headers["type"]: _named(headers["id"])}} if headers else {}
    name = _SERVER.format(name=server["name"])
    return _node(name, f"{_LANGCHAIN}mcpClientTool", 1.4, parameters, at=(160 * place, 400), **more)


def _headers(server: Mapping[str, Any]) -> Json | None:
    given = server.get("headers") or {}
    if not given:
        return None
    mark = hashlib.sha256(str(server["name"]).encode()).hexdigest()[:8]
    values = [{"name": name, "value": value} for name, value in given.items()]
    return _credential(f"{AGENT_ID}-mcp-{mark}", "httpMultipleHeadersAuth", {"headers": {"values": values}})
