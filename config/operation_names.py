"""The names of operations, such as `listAgents` or `pauseAgent`, made from method and path."""

from __future__ import annotations

# A POST to a path that ends in one of these words does that action to the resource before the word.
_VERBS = {"cancel", "pause", "publish", "rebuild", "redeliver", "restore", "resume", "test", "unpublish"}
_METHODS = {"get": "get", "post": "create", "put": "set", "patch": "update", "delete": "delete"}
_NAMES = {
    ("POST", "/auth/request"): "requestSignInCode",
    ("POST", "/auth/verify"): "verifySignInCode",
    ("POST", "/auth/logout"): "endSession",
    ("GET", "/me"): "getAccount",
    ("GET", "/me/author"): "getAuthor",
    ("GET", "/me/limits"): "getAccountLimits",
    ("PUT", "/me/limits"): "setAccountLimits",
    ("PUT", "/me/author"): "setAuthor",
    ("GET", "/me/personas"): "listOwnPersonas",
    ("GET", "/me/personas/{id}"): "getOwnPersona",
    ("GET", "/me/personas/{id}/articles/{slug}"): "getOwnPersonaArticle",
    ("GET", "/health/ready"): "getReadiness",
    ("POST", "/agents/{id}/chat"): "chatWithAgent",
    ("POST", "/agents/{id}/v1/chat/completions"): "completeAgentChat",
    ("GET", "/agents/{id}/v1/models"): "listAgentModels",
    ("GET", "/agents/{id}/v1/models/{model}"): "getAgentModel",
    ("GET", "/a2a-catalog"): "listA2aAgents",
    ("POST", "/stripe/portal"): "openStripePortal",
    ("POST", "/agents/{id}/talk-test"): "testAgentTalk",
    ("POST", "/agents/{id}/mcp-test"): "testAgentMcpServer",
    ("GET", "/agents/{id}/logs"): "getAgentLogs",
    ("GET", "/agents/{id}/explain"): "explainAgent",
    ("GET", "/agents/{id}/egress/log"): "getAgentEgressLog",
    ("GET", "/agents/{id}/channels/whatsapp"): "verifyWhatsappWebhook",
    ("POST", "/agents/{id}/channels/whatsapp"): "receiveWhatsappMessages",
    ("GET", "/domain-check"): "checkDomain",
}


def name_of(method: str, path: str, *, many: bool) -> str:
    """`path` is written as in `/openapi.json`; `many` says whether the call lists things."""
    return _NAMES.get((method, path)) or _derived(method, path, many=many)


def _derived(method: str, path: str, *, many: bool) -> str:
    """A verb-noun name for an operation, such as `listAgents` or `pauseAgent`."""
    words = fixed_words(path)
    verb = "list" if many else _METHODS[method.lower()]
    if method == "POST" and words[-1] in _VERBS:
        verb = words.pop()
    *nouns, last = words
    # The last word is a plural, but `/agents/{id}` and POST to `/agents` are about a single one.
    is_single = not many and (method == "POST" or path.endswith("}"))
    nouns = [*map(_singular, nouns), _singular(last) if is_single else last]
    return verb + "".join(part.capitalize() for noun in nouns for part in noun.split("-"))


def fixed_words(path: str) -> list[str]:
    return [word for word in path.strip("/").split("/") if not word.startswith("{")]


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word if word.endswith(("ss", "us", "crypto", "stars")) else word.removesuffix("s")
