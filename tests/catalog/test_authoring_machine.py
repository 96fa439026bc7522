"""Random actions of an author and of moderators: answers and public pages equal those of a small model."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts.models import User
from catalog import authors, moderation, snapshot
from catalog.models import Persona
from config.errors import Conflict
from tests.at_length import examples
from tests.catalog.writing import FULL, Writer


@dataclass(frozen=True)
class ExpectedPersona:
    """The expected state of one persona; `status` is None after its deletion."""

    status: str | None = "draft"
    soul: str = FULL["soul"]
    banned: bool = False

    def patched(self, soul: str) -> tuple[int, ExpectedPersona]:
        if self.status is None or self.banned:
            return (404 if self.status is None else 403), self
        if self.status == "published" and not soul:
            return 400, self
        return 200, replace(self, soul=soul)

    def published(self) -> tuple[int, ExpectedPersona]:
        if self.status is None or self.banned:
            return (404 if self.status is None else 403), self
        if self.status == "draft" and not self.soul:
            return 400, self
        return 200, replace(self, status="published")

    def unpublished(self) -> tuple[int, ExpectedPersona]:
        return (404, self) if self.status is None else (200, replace(self, status="draft"))

    def deleted(self) -> tuple[int, ExpectedPersona]:
        return (404, self) if self.status is None else (204, replace(self, status=None))


def _author(expected: ExpectedPersona, act: str) -> tuple[str, str, Any, tuple[int, ExpectedPersona]]:
    match act:
        case "publish":
            return "POST", "/publish", None, expected.published()
        case "unpublish":
            return "POST", "/unpublish", None, expected.unpublished()
        case "delete":
            return "DELETE", "", None, expected.deleted()
    soul = "" if act == "break" else f"You are {act}."
    return "PATCH", "", {"soul": soul}, expected.patched(soul)


def _moderate(expected: ExpectedPersona, act: str, author: User, persona_id: str) -> ExpectedPersona:
    """An action of an operator; an impossible action changes nothing."""
    persona = Persona.objects.filter(pk=persona_id).first()
    withdrawn = replace(expected, status=expected.status and "draft")
    with suppress(Conflict):
        if act == "take down" and persona:
            moderation.take_down(persona, reason="r", actor="t")
            return withdrawn
        if act == "ban":
            moderation.ban(authors.of(author.pk), reason="r", actor="t")
            return replace(withdrawn, banned=True)
        if act == "lift":
            moderation.lift(authors.of(author.pk))
            return replace(expected, banned=False)
    return expected


AUTHOR = ["publish", "unpublish", "delete", "break", "mend", "change"]
OPERATOR = ["take down", "ban", "lift"]


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(st.sampled_from([*AUTHOR, *AUTHOR, *OPERATOR]), min_size=4, max_size=12))
def test_any_history_is_that_of_the_model(shelf: None, api: APIClient, acts: list[str]) -> None:
    user = User.objects.create_user(f"{User.objects.count()}@example.com")
    writer, expected = Writer(user), ExpectedPersona()
    path = f"/personas/{writer.draft()['id']}"
    for act in acts:
        if act in OPERATOR:
            expected = _moderate(expected, act, user, path.rpartition("/")[2])
        else:
            method, verb, body, (status, expected) = _author(expected, act)
            writer.call(method, f"{path}{verb}", body, status=status)
        _is_as(expected, writer, api, path)


def _is_as(expected: ExpectedPersona, writer: Writer, api: APIClient, path: str) -> None:
    own = writer.call("GET", f"/me{path}", status=200 if expected.status else 404)
    snapshot.look()
    public = api.get(path)
    assert public.status_code == (200 if expected.status == "published" else 404)
    if expected.status:
        assert (own["persona"]["status"], own["persona"]["soul"]) == (expected.status, expected.soul)
    if expected.status == "published":
        assert public.json()["persona"] == own["persona"]
