"""The two dialects of A2A: both describe the same tasks. Version 1.0 is ProtoJSON; version 0.3 marks its objects with
`kind`.
"""

from __future__ import annotations

import base64
import re
import uuid
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from agents.pod.gateway.a2a.reading import PartSent
from agents.pod.gateway.a2a.tasks import Artifact, ArtifactChange, Change, Remark, Task, TaskState, TaskStatus
from agents.pod.turns.parts import DataPart, FilePart, LinkPart, Part, line

Json = dict[str, Any]
VERSION_HEADER = "A2A-Version"


class Dialect(ABC):
    """What both dialects have in common: the objects and their content."""

    roles: ClassVar[tuple[str, str]]  # the role names of the peer and of the agent

    def task(self, task: Task, *, history: int | None) -> Json:
        """The task with its newest `history` messages; None means all messages."""
        body = self._tag("task", id=task.id, contextId=task.context_id, status=self._status(task, task.status))
        if told := [self._artifact(one, one.content) for one in task.artifacts if one.content != ""]:
            body["artifacts"] = told
        if remarks := task.told(history):
            body["history"] = [self._message(task, remark) for remark in remarks]
        return body

    @abstractmethod
    def sent(self, task: Task, *, history: int | None) -> Json:
        """The result of a message."""

    def message(self, task: Task) -> Json:
        """The answer as a message, for a peer that does not know of the task. The task must have an answer."""
        said = [self._part(one.content) for one in task.artifacts if one.content != ""]
        return self._tag(
            "message", messageId=str(uuid.uuid4()), contextId=task.context_id, role=self.roles[1], parts=said
        )

    def change(self, task: Task, change: Change) -> Json:
        """One event of a stream. The first event of a stream comes from `sent`, all others from here."""
        about = {"taskId": task.id, "contextId": task.context_id}
        if isinstance(change, ArtifactChange):
            piece = self._artifact(change.artifact, change.content)
            return self._event("artifact-update", {**about, "artifact": piece, "append": change.append})
        status = {**about, "status": self._status(task, change.status)}
        return self._event("status-update", status, final=change.status.state is not TaskState.WORKING)

    def params(self, given: Json) -> Json:
        """The parameters of a call, with the names that the methods read."""
        return given

    @abstractmethod
    def waits(self, configuration: Json) -> bool:
        """Whether the caller wants to wait for the answer, and not only get the task."""

    @abstractmethod
    def part_of(self, raw: Json) -> PartSent:
        """A part of a peer's message."""

    @abstractmethod
    def _tag(self, kind: str, **fields: Any) -> Json: ...

    @abstractmethod
    def _event(self, kind: str, body: Json, *, final: bool | None = None) -> Json: ...

    @abstractmethod
    def _state(self, state: TaskState) -> str: ...

    @abstractmethod
    def _part(self, content: str | Part) -> Json: ...

    def _status(self, task: Task, status: TaskStatus) -> Json:
        at = status.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        body: Json = {"state": self._state(status.state), "timestamp": at}
        if status.note:
            body["message"] = self._message(task, status.note)
        return body

    def _message(self, task: Task, remark: Remark) -> Json:
        head = {"messageId": remark.message_id, "contextId": task.context_id, "taskId": task.id}
        return self._tag("message", **head, role=self.roles[remark.is_agents], parts=[self._part(remark.text)])

    def _artifact(self, artifact: Artifact, content: str | Part) -> Json:
        return {"artifactId": artifact.id, "name": artifact.name, "parts": [self._part(content)]}


class Version1(Dialect):
    roles = ("ROLE_USER", "ROLE_AGENT")

    def sent(self, task: Task, *, history: int | None) -> Json:
        return {"task": self.task(task, history=history)}

    def message(self, task: Task) -> Json:
        return {"message": super().message(task)}

    def params(self, given: Json) -> Json:
        """Accept the names of the .proto file too (`history_length`), in every object that is read here. ProtoJSON asks
        this of readers.
        """
        params: Json = _camel(given)
        for name in {"message", "configuration"} & set(params):
            params[name] = _camel(params[name])
        message = params.get("message")
        if isinstance(message, dict) and isinstance(message.get("parts"), list):
            message["parts"] = [_camel(part) for part in message["parts"]]
        return params

    def waits(self, configuration: Json) -> bool:
        return configuration.get("returnImmediately") is not True

    def part_of(self, raw: Json) -> PartSent:
        found = {name: raw.get(name) for name in ("text", "raw", "url")}
        return PartSent(
            **found,
            has_data=raw.get("data") is not None or ("data" in raw and not any(found.values())),
            data=raw.get("data"),
            name=raw.get("filename"),
            media_type=raw.get("mediaType"),
        )

    def _tag(self, kind: str, **fields: Any) -> Json:
        return fields

    def _event(self, kind: str, body: Json, *, final: bool | None = None) -> Json:
        return {{"artifact-update": "artifactUpdate", "status-update": "statusUpdate"}[kind]: body}

    def _state(self, state: TaskState) -> str:
        return f"TASK_STATE_{state.name}"

    def _part(self, content: str | Part) -> Json:
        match content:
            case FilePart(name=name, media_type=media_type, content=raw):
                return {"raw": base64.b64encode(raw).decode(), "filename": name, "mediaType": media_type}
            case LinkPart(name=name, media_type=media_type, url=url):
                return {"url": url, "filename": name, "mediaType": media_type}
            case DataPart(value=value):
                return {"data": value, "mediaType": "application/json"}
        return {"text": content if isinstance(content, str) else line(content)}


class Version03(Dialect):
    roles = ("user", "agent")

    def sent(self, task: Task, *, history: int | None) -> Json:
        return self.task(task, history=history)

    def waits(self, configuration: Json) -> bool:
        return configuration.get("blocking") is not False

    def part_of(self, raw: Json) -> PartSent:
        kind = raw.get("kind")
        file = raw.get("file") if kind == "file" else None
        known: Json = file if isinstance(file, dict) else {}
        return PartSent(
            text=raw.get("text") if kind == "text" else None,
            raw=known.get("bytes"),
            url=known.get("uri"),
            has_data=kind == "data",
            data=raw.get("data"),
            name=known.get("name"),
            media_type=known.get("mimeType"),
        )

    def _tag(self, kind: str, **fields: Any) -> Json:
        return {"kind": kind, **fields}

    def _event(self, kind: str, body: Json, *, final: bool | None = None) -> Json:
        return {**body, "kind": kind, **({} if final is None else {"final": final})}

    def _state(self, state: TaskState) -> str:
        return str(state)

    def _part(self, content: str | Part) -> Json:
        match content:
            case FilePart(name=name, media_type=media_type, content=raw):
                file = {"bytes": base64.b64encode(raw).decode(), "name": name, "mimeType": media_type}
                return {"kind": "file", "file": file}
            case LinkPart(name=name, media_type=media_type, url=url):
                return {"kind": "file", "file": {"uri": url, "name": name, "mimeType": media_type}}
            case DataPart(value=value) if isinstance(value, dict):
                return {"kind": "data", "data": value}
            case DataPart(value=value):
                # In 0.3, data must be an object. The official client finds this mark and takes the value out again.
                return {"kind": "data", "data": {"value": value}, "metadata": {"data_part_compat": True}}
        return {"kind": "text", "text": content if isinstance(content, str) else line(content)}


def state_named(name: str) -> TaskState | None:
    """The state with this name of version 1.0, or None."""
    return next((state for state in TaskState if f"TASK_STATE_{state.name}" == name), None)


def _camel(given: Any) -> Any:
    """The same object with camelCase names. If both spellings are there, the camelCase value wins. Other values are
    returned unchanged.
    """
    if not isinstance(given, dict):
        return given
    renamed = {re.sub("_([a-z])", lambda found: found[1].upper(), name): value for name, value in given.items()}
    return {**renamed, **{name: value for name, value in given.items() if "_" not in name}}
