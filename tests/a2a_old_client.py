"""The official client of 0.3 (a2a-sdk 0.3). It cannot be installed beside version 1.0, so it has its own Python.

Run `python a2a_old_client.py <address> <token>` against the scripted engine (tests/a2a_kit_script.py): the message's id
chooses the scenario. It exits with 0 when the client understood every answer.
"""

# mypy: ignore-errors
# The package imported here has another version in the project's environment.

from __future__ import annotations

import asyncio
import base64
import sys
import uuid
from typing import Any

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientJSONRPCError
from a2a.types import DataPart, FilePart, FileWithBytes, Message, Part, Role, Task, TaskIdParams, TextPart


def message(scenario: str, *parts: Part, task_id: str | None = None) -> Message:
    said = list(parts) or [Part(root=TextPart(text="hello"))]
    return Message(message_id=f"{scenario}-{uuid.uuid4()}", role=Role.user, parts=said, task_id=task_id)


async def last(client: Client, sent: Message) -> Any:
    """The task at the end, or the message if there is no task."""
    events = [event async for event in client.send_message(sent)]
    return events[-1][0] if isinstance(events[-1], tuple) else events[-1]


async def check(client: Client, *, name: str) -> None:
    def given(task: Task) -> Any:
        assert task.artifacts, name
        return task.artifacts[0].parts[0].root

    done = await last(client, message("tck-artifact-text"))
    assert (done.status.state.value, given(done).text) == ("completed", "Generated text content"), name
    file = given(await last(client, message("tck-artifact-file"))).file
    assert (file.bytes, file.name, file.mime_type) == ("dGNr", "output.txt", "text/plain"), name
    assert given(await last(client, message("tck-artifact-file-url"))).file.uri == "https://example.com/output.txt"
    assert given(await last(client, message("tck-artifact-data"))).data == {"key": "value", "count": 42}, name
    asked = await last(client, message("tck-input-required"))
    assert asked.status.state.value == "input-required", name
    finished = await last(client, message("tck-complete-task", task_id=asked.id))
    assert (finished.id, finished.status.state.value) == (asked.id, "completed"), name
    waits = await last(client, message("tck-input-required"))
    assert (await client.cancel_task(TaskIdParams(id=waits.id))).status.state.value == "canceled", name
    await check_what_it_reads(client, name=name)


async def check_what_it_reads(client: Client, *, name: str) -> None:
    def file(content: bytes, kind: str) -> Part:
        encoded = base64.b64encode(content).decode()
        return Part(root=FilePart(file=FileWithBytes(bytes=encoded, mime_type=kind, name="a")))

    read = message("tck-complete-task", file(b"a,b", "text/csv"), Part(root=DataPart(data={"unit": "kg"})))
    assert (await last(client, read)).status.state.value == "completed", name
    code = None
    try:
        await last(client, message("tck-complete-task", file(b"\x89PNG", "image/png")))
    except A2AClientJSONRPCError as refusal:
        code = refusal.error.code
    assert code == -32005, name


async def main(address: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(trust_env=False, timeout=20, headers=headers) as http:
        card = await A2ACardResolver(http, f"{address}/a2a").get_agent_card()
        for streaming in (False, True):
            client = ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(card)
            await check(client, name="streamed" if streaming else "waited for")
        client = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
        remark = await last(client, message("tck-message-response"))
        assert remark.kind == "message"
        assert remark.parts[0].root.text == "Direct message response"


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
