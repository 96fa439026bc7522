"""The client of Agentpods: `Agentpods`, and `AsyncAgentpods` with the same calls."""

from agentpods import errors, webhooks
from agentpods._async.client import AsyncAgentpods
from agentpods._generated import types
from agentpods._sync.client import Agentpods
from agentpods._wire.chat import ChatDelta, ChatDone, ChatEvent, ChatPart
from agentpods._wire.limits import VERSION
from agentpods._wire.sse import ServerEvent

__version__ = VERSION

__all__ = [
    "Agentpods",
    "AsyncAgentpods",
    "ChatDelta",
    "ChatDone",
    "ChatEvent",
    "ChatPart",
    "ServerEvent",
    "__version__",
    "errors",
    "types",
    "webhooks",
]
