"""The two spellings of the protocol. Both tell the same tasks; 1.0 is ProtoJSON, 0.3 tags its objects with `kind`."""

from __future__ import annotations

from typing import Any, Protocol

from agents.pod.gateway.a2a.tasks import Change, Message, State, Task, Words

Json = dict[str, Any]
VERSION_HEADER = "A2A-Version"
# In a message's metadata: how many agents have passed a question on before it came here. Whoever does not know the
# field ends a chain only by not answering in time.
HOPS = "agentpods/hops"
HOPS_AT_MOST = 4


class Dialect(Protocol):
    major: str

    def task(self, task: Task, *, history: bool) -> Json: ...

    def sent(self, task: Task, *, history: bool) -> Json:
        """The result of a message."""

    def change(self, task: Task, change: Change) -> Json:
        """One event of a stream after the first, which is `sent`."""

    def waits(self, configuration: Json) -> bool:
        """Whether the caller wants the message's answer and not only its task."""

    def text_of(self, part: Json) -> str | None:
        """The text of a part; None for what is no text."""


class Version1:
    major = "1"

    def task(self, task: Task, *, history: bool) -> Json:
        body: Json = {"id": task.id, "contextId": task.context_id, "status": self._status(task)}
        if task.reply:
            body["artifacts"] = [self._artifact(task, task.reply)]
        if history:
            body["history"] = [self._message(task, "ROLE_USER", task.question.message_id, task.question.text)]
        return body

    def sent(self, task: Task, *, history: bool) -> Json:
        return {"task": self.task(task, history=history)}

    def change(self, task: Task, change: Change) -> Json:
        head = {"taskId": task.id, "contextId": task.context_id}
        if isinstance(change, Words):
            return {"artifactUpdate": {**head, "artifact": self._artifact(task, change.text), "append": change.append}}
        return {"statusUpdate": {**head, "status": self._status(task)}}

    def waits(self, configuration: Json) -> bool:
        return configuration.get("returnImmediately") is not True

    def text_of(self, part: Json) -> str | None:
        text = part.get("text")
        return text if isinstance(text, str) else None

    def _status(self, task: Task) -> Json:
        body: Json = {"state": f"TASK_STATE_{task.state.name}", "timestamp": _time(task)}
        if task.note:
            body["message"] = self._message(task, "ROLE_AGENT", f"{task.id}-note", task.note)
        return body

    def _message(self, task: Task, role: str, message_id: str, text: str) -> Json:
        head = {"messageId": message_id, "contextId": task.context_id, "taskId": task.id}
        return {**head, "role": role, "parts": [{"text": text}]}

    def _artifact(self, task: Task, text: str) -> Json:
        return {"artifactId": task.artifact_id, "name": "reply", "parts": [{"text": text}]}


class Version03:
    major = "0"

    def task(self, task: Task, *, history: bool) -> Json:
        body: Json = {"kind": "task", "id": task.id, "contextId": task.context_id, "status": self._status(task)}
        if task.reply:
            body["artifacts"] = [self._artifact(task, task.reply)]
        if history:
            body["history"] = [self._message(task, "user", task.question.message_id, task.question.text)]
        return body

    def sent(self, task: Task, *, history: bool) -> Json:
        return self.task(task, history=history)

    def change(self, task: Task, change: Change) -> Json:
        head = {"taskId": task.id, "contextId": task.context_id}
        if isinstance(change, Words):
            artifact = self._artifact(task, change.text)
            return {**head, "kind": "artifact-update", "artifact": artifact, "append": change.append}
        return {**head, "kind": "status-update", "status": self._status(task), "final": True}

    def waits(self, configuration: Json) -> bool:
        return configuration.get("blocking") is not False

    def text_of(self, part: Json) -> str | None:
        text = part.get("text")
        return text if part.get("kind") == "text" and isinstance(text, str) else None

    def _status(self, task: Task) -> Json:
        body: Json = {"state": str(task.state), "timestamp": _time(task)}
        if task.note:
            body["message"] = self._message(task, "agent", f"{task.id}-note", task.note)
        return body

    def _message(self, task: Task, role: str, message_id: str, text: str) -> Json:
        head = {"messageId": message_id, "contextId": task.context_id, "taskId": task.id}
        return {**head, "kind": "message", "role": role, "parts": [{"kind": "text", "text": text}]}

    def _artifact(self, task: Task, text: str) -> Json:
        return {"artifactId": task.artifact_id, "name": "reply", "parts": [{"kind": "text", "text": text}]}


def read_message(dialect: Dialect, raw: Any) -> Message | None:
    """The message in a call; None where it is not one, and an empty text where no part is text."""
    if not isinstance(raw, dict) or not isinstance(raw.get("parts"), list) or not raw["parts"]:
        return None
    names = {name: raw.get(name) for name in ("messageId", "contextId", "taskId")}
    if not isinstance(names["messageId"], str) or not names["messageId"]:
        return None
    if any(value is not None and not isinstance(value, str) for value in names.values()):
        return None
    parts = [dialect.text_of(part) if isinstance(part, dict) else None for part in raw["parts"]]
    text = "" if None in parts else "\n".join(part for part in parts if part)
    return Message(names["messageId"], text, names["contextId"] or None, names["taskId"] or None, _hops(raw))


def _hops(raw: Json) -> int:
    """On their way through other agents whole numbers may become others."""
    metadata = raw.get("metadata")
    said = metadata.get(HOPS) if isinstance(metadata, dict) else None
    if not isinstance(said, int | float) or isinstance(said, bool) or not said > 0:
        return 0
    return int(min(said, HOPS_AT_MOST + 1))


def state_named(name: str) -> State | None:
    """The state in 1.0's spelling."""
    return next((state for state in State if f"TASK_STATE_{state.name}" == name), None)


def _time(task: Task) -> str:
    return task.changed_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
