"""Writing personas through the API: drafts, changes, deletion, limits, permissions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.models import User
from catalog import authoring, authors, loading, snapshot, usage
from catalog.changed_by import PERSONA
from catalog.models import Author, CatalogVersion, Persona, PersonaL10n
from catalog.serializers.authors import PatchPersonaSerializer
from catalog.serializers.catalog import PersonaSerializer
from tests.catalog.writing import FULL, LARGEST, SMALL, WRONG, Writer

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
REQUIRED = {
    "id", "icon", "name", "tagline", "forWho", "does", "skills", "channels", "category", "tags", "tier", "spec",
    "price", "risk", "disclaimer", "authorId", "author", "status", "soul", "deployedCount", "recommendedModels",
}  # fmt: skip


def _own(writer: Writer, persona: Any) -> Any:
    return writer.get(f"/me/personas/{persona['id']}")["persona"]


def test_a_name_is_enough_for_a_draft_of_the_spec(writer: Writer) -> None:
    draft = writer.post("/personas", {"name": "Owl"})["persona"]
    assert set(draft) == REQUIRED
    assert draft == _own(writer, draft)
    texts = {name: draft[name] for name in ("tagline", "forWho", "soul")}
    lists = {name: draft[name] for name in ("does", "skills", "tags", "recommendedModels")}
    assert (set(texts.values()), list(lists.values())) == ({""}, [[]] * 4)
    assert (draft["icon"], draft["channels"], draft["category"], draft["tier"]) == ("🤖", ["web"], "life", "tiny")
    assert (draft["risk"], draft["disclaimer"], draft["status"], draft["deployedCount"]) == ("low", None, "draft", 0)
    assert draft["price"]
    assert draft["spec"]


def test_what_is_written_is_read(writer: Writer) -> None:
    draft = writer.draft()
    assert {name: draft[name] for name in FULL} == FULL
    assert list(draft["doesExamples"]) == draft["does"]
    assert draft == _own(writer, draft)
    assert writer.get("/me/personas") == {"personas": [draft]}
    assert writer.get(f"/me/personas/{draft['id']}") == {"persona": draft, "articles": []}


OURS = {
    "id": "mine",
    "status": "published",
    "author": "Me",
    "authorId": "usr_1",
    "deployedCount": 5,
    "price": "$0",
    "spec": "1 GB",
}


@pytest.mark.parametrize("field", OURS)
def test_what_the_platform_says_cannot_be_written(writer: Writer, field: str) -> None:
    draft = writer.draft()
    given = {"name": "Owl", field: OURS[field]}
    assert writer.refusal("POST", "/personas", given).startswith(f"{field}: ")
    assert writer.refusal("PATCH", f"/personas/{draft['id']}", given).startswith(f"{field}: ")
    assert _own(writer, draft) == draft


def test_every_field_of_a_persona_is_written_or_refused(writer: Writer) -> None:
    assert set(PersonaSerializer().fields) == set(PatchPersonaSerializer().fields) | set(PERSONA)


def test_ids_are_made_of_the_name_and_never_the_same(writer: Writer) -> None:
    names = {"Night Owl": "night-owl-", "Exam Coach": "exam-coach-", "Ночная сова": "persona-", "a_-_b": "a-b-"}
    for name, start in names.items():
        first, second = (writer.post("/personas", {"name": name})["persona"]["id"] for _ in range(2))
        assert first != second
        assert {first[:-6], second[:-6]} == {start}
    assert len(writer.post("/personas", {"name": "a" * 80})["persona"]["id"]) == 47


def test_personas_are_listed_newest_first(writer: Writer, stranger: Writer) -> None:
    ids = [writer.draft()["id"], writer.published()["id"], writer.draft()["id"]]
    stranger.draft()
    assert [persona["id"] for persona in writer.get("/me/personas")["personas"]] == ids[::-1]


def test_the_list_takes_the_same_queries_for_any_number(
    writer: Writer, django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 600)
    for _ in range(3):
        writer.draft()
        with django_assert_num_queries(3):
            writer.get("/me/personas")


def test_what_is_absent_stays_and_null_removes(writer: Writer) -> None:
    draft = writer.draft()
    path = f"/personas/{draft['id']}"
    assert writer.patch(path, {}) == {"persona": draft}
    assert writer.patch(path, {"tagline": "Other"})["persona"] == draft | {"tagline": "Other"}
    removed = writer.patch(path, {"doesExamples": None, "demo": [], "disclaimer": None, "ru": None})["persona"]
    assert removed == {name: value for name, value in draft.items() if name not in {"doesExamples", "demo", "ru"}} | {
        "tagline": "Other",
        "disclaimer": None,
    }


def test_what_an_operator_hid_stays_hidden_when_its_author_changes_it(writer: Writer) -> None:
    text = {"name": "Сова", "tagline": "Рядом", "forWho": "Вам", "does": ["Раз", "Два"], "disclaimer": "Не врач."}
    draft = writer.draft(ru=text)
    PersonaL10n.objects.filter(persona_id=draft["id"], lang="ru").update(hidden=True)
    writer.patch(f"/personas/{draft['id']}", {"ru": {**text, "name": "Филин"}})
    assert PersonaL10n.objects.filter(persona_id=draft["id"], lang="ru", name="Филин", hidden=True).exists()


def test_a_localization_is_replaced_whole(writer: Writer) -> None:
    path = f"/personas/{writer.draft()['id']}"
    other = {"name": "Сова", "tagline": "Ночь", "forWho": "Всем", "does": ["Раз", "Два"]}
    persona = writer.patch(path, {"ru": other, "ind": other | {"name": "Burung"}})["persona"]
    assert (persona["ru"], persona["ind"]["name"]) == (other, "Burung")


def test_texts_are_kept_as_written_but_for_blank_ends_of_lines(writer: Writer) -> None:
    soul = "  Line one\r\n\tand two: <b>é</b> 👩‍🏫\n\n"
    draft = writer.draft(soul=soul, tagline="  Company  ", icon="👩‍🏫")
    assert (draft["soul"], draft["tagline"], draft["icon"]) == (soul.replace("\r\n", "\n"), "Company", "👩‍🏫")


@pytest.mark.sampled
def test_a_field_that_is_wrong_is_named(writer: Writer) -> None:
    path = f"/personas/{writer.draft()['id']}"
    before = writer.get(f"/me{path}")
    for texts, field in WRONG:
        assert writer.refusal("POST", "/personas", FULL | texts).startswith(field), texts
        assert writer.refusal("PATCH", path, texts).startswith(field), texts
    assert writer.refusal("POST", "/personas", {}).startswith("name: ")
    assert writer.get("/me/personas") == {"personas": [before["persona"]]}


def test_text_that_no_column_can_hold_is_refused(writer: Writer) -> None:
    for text in ("a\\u0000b", "\\ud800"):
        for body in (f'{{"name": "{text}"}}', f'{{"name": "a", "doesExamples": {{"{text}": "b"}}}}'):
            answer = writer.api.generic("POST", "/personas", body, "application/json")
            assert answer.status_code == 400
            assert "NUL or unpaired surrogates" in answer.json()["message"]


def test_the_largest_persona_is_published(writer: Writer) -> None:
    persona = writer.post("/personas", LARGEST)["persona"]
    published = writer.post(f"/personas/{persona['id']}/publish")["persona"]
    assert {name: published[name] for name in LARGEST} == LARGEST


def test_a_change_of_what_is_published_is_live_and_waits_for_the_moderators(writer: Writer, api: APIClient) -> None:
    path = f"/personas/{writer.published()['id']}"
    row = Persona.objects.filter(owner=writer.user)
    for texts in ({"soul": "You are another."}, {"ru": None}, {"does": ["Sleeps"], "doesExamples": None}):
        row.update(reviewed_at=timezone.now())
        with time_machine.travel(NOON, tick=False):
            changed = writer.patch(path, texts)["persona"]
        assert (row.get().reviewed_at, row.get().updated_at) == (None, NOON)
        snapshot.forget()
        assert api.get(path).json()["persona"] == changed
        assert changed["status"] == "published"


def test_a_change_to_the_same_is_no_change(writer: Writer) -> None:
    path = f"/personas/{writer.published()['id']}"
    Persona.objects.update(reviewed_at=timezone.now())
    before = (CatalogVersion.objects.get().token, list(Persona.objects.values()))
    writer.patch(path, FULL)
    assert (CatalogVersion.objects.get().token, list(Persona.objects.values())) == before


def test_what_is_published_stays_complete(writer: Writer, api: APIClient) -> None:
    persona = writer.published()
    path = f"/personas/{persona['id']}"
    broken: list[tuple[dict[str, Any], str]] = [
        ({"tagline": ""}, "tagline"),
        ({"soul": "", "tagline": "Half"}, "soul"),
        ({"does": []}, "does"),
        ({"disclaimer": None}, "disclaimer"),
        ({"does": ["Sleeps", "Dreams"]}, "doesExamples"),
        ({"es": FULL["ru"] | {"disclaimer": None}}, "es.disclaimer"),
    ]
    for texts, field in broken:
        assert writer.refusal("PATCH", path, texts).startswith(f"{field}: ")
    snapshot.forget()
    assert api.get(path).json()["persona"] == persona == _own(writer, persona)


def test_drafts_are_nobodys_news(writer: Writer) -> None:
    before = CatalogVersion.objects.get().token
    draft = writer.draft()
    writer.patch(f"/personas/{draft['id']}", {"name": "Other", "ru": None})
    writer.delete(f"/personas/{draft['id']}")
    assert CatalogVersion.objects.get().token == before


def test_a_new_name_keeps_the_id(writer: Writer) -> None:
    draft = writer.draft()
    assert writer.patch(f"/personas/{draft['id']}", {"name": "Other"})["persona"]["id"] == draft["id"]


def test_a_deleted_persona_is_gone_with_all_that_belongs_to_it(writer: Writer, api: APIClient) -> None:
    path = f"/personas/{writer.published()['id']}"
    writer.post(f"{path}/articles", {"title": "A", "lang": "en", "body": "x", "status": "published"})
    writer.delete(path)
    snapshot.forget()
    assert api.get(path).status_code == 404
    for method, body in (("GET", None), ("PATCH", {}), ("DELETE", None)):
        where = f"/me{path}" if method == "GET" else path
        writer.refusal(method, where, body, status=404)
    assert not Persona.objects.filter(owner=writer.user).exists()


def test_what_is_used_is_not_deleted(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/personas/{writer.published()['id']}"
    monkeypatch.setitem(usage._users, "agents", path.endswith)
    message = writer.refusal("DELETE", path, status=409)
    assert message.startswith("agents use this persona: POST /personas/{id}/unpublish")
    writer.post(f"{path}/unpublish")
    writer.refusal("DELETE", path, status=409)
    monkeypatch.setitem(usage._users, "agents", lambda persona_id: False)
    writer.delete(path)


def test_another_ones_persona_is_not_there_and_a_built_in_one_not_to_be_written(
    writer: Writer, stranger: Writer, api: APIClient
) -> None:
    path = f"/personas/{writer.published()['id']}"
    for method in ("PATCH", "DELETE"):
        body: Any = {"name": "x"} if method == "PATCH" else None
        for who, where, status in ((stranger, path, 404), (writer, "/personas/exam-coach", 403)):
            who.refusal(method, where, body, status=status)
        for junk in ("nobody", "%00", "A", "a" * 300):
            writer.refusal(method, f"/personas/{junk}", body, status=404)
        assert getattr(api, method.lower())(path).status_code == 401
    for where in (path, "/personas/exam-coach", "/personas/%00"):
        stranger.refusal("GET", f"/me{where}", status=404)
    assert api.get("/me/personas").status_code == api.get(f"/me{path}").status_code == 401


def test_a_malformed_body_is_refused_before_the_persona_is_looked_for(writer: Writer) -> None:
    malformed: tuple[Any, ...] = ([], "x", 5)
    for body in malformed:
        assert writer.refusal("PATCH", "/personas/nobody", body).startswith("body: must be an object")
        assert writer.refusal("POST", "/personas", body).startswith("body: must be an object")


def test_an_account_has_so_many_personas(writer: Writer, stranger: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert authoring.PERSONAS_PER_AUTHOR == 64
    monkeypatch.setattr(authoring, "PERSONAS_PER_AUTHOR", 3)
    for _ in range(2):
        writer.draft()
    path = f"/personas/{writer.published()['id']}"
    assert writer.refusal("POST", "/personas", SMALL).startswith("personas: 3 of at most 3 exist")
    stranger.draft()
    writer.delete(path)
    writer.draft()


def test_a_banned_author_reads_unpublishes_and_deletes(writer: Writer, api: APIClient) -> None:
    path, draft = f"/personas/{writer.published()['id']}", f"/personas/{writer.draft()['id']}"
    article = {"title": "A", "lang": "en", "body": "x"}
    slug = writer.post(f"{path}/articles", article)["article"]["slug"]
    Author.objects.update(banned_at=timezone.now())
    refused: list[tuple[str, str, Any]] = [
        ("POST", "/personas", SMALL),
        ("PATCH", draft, {"name": "x"}),
        ("POST", f"{draft}/publish", None),
        ("POST", f"{path}/articles", article),
        ("PATCH", f"{path}/articles/{slug}", {"title": "x"}),
        ("PUT", "/me/author", {"name": "Olga"}),
    ]
    for method, where, body in refused:
        assert "may no longer write or publish" in writer.refusal(method, where, body, status=403)
    assert len(writer.get("/me/personas")["personas"]) == 2
    assert writer.get(f"/me{path}/articles/{slug}")["article"]["title"] == "A"
    writer.post(f"{path}/unpublish")
    writer.delete(f"{path}/articles/{slug}")
    writer.delete(path)
    writer.delete(draft)


# Concurrent requests.


def _at_once(acts: list[Callable[[], Any]]) -> list[Any]:
    done: list[Any] = []

    def run(act: Callable[[], Any]) -> None:
        try:
            done.append(act())
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


@pytest.fixture
def crowd(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Writer:
    loading.load()
    return Writer(User.objects.create_user("author@example.com"))


def test_at_once_an_account_has_no_more_than_its_limit_and_loses_no_change(
    crowd: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authoring, "PERSONAS_PER_AUTHOR", 3)
    body = json.dumps(SMALL)
    made = _at_once([lambda: crowd.api.generic("POST", "/personas", body, "application/json")] * 8)
    assert sorted(answer.status_code for answer in made) == [200] * 3 + [400] * 5
    path = f"/personas/{crowd.get('/me/personas')['personas'][0]['id']}"
    texts = {"tagline": "A", "forWho": "B", "soul": "C", "skills": ["D"], "tags": ["E"], "risk": "low", "tier": "large"}
    _at_once([partial(crowd.patch, path, {name: value}) for name, value in texts.items()])
    persona = crowd.get(f"/me{path}")["persona"]
    assert {name: persona[name] for name in texts} == texts


def test_at_once_publishing_and_breaking_leave_nothing_incomplete(crowd: Writer) -> None:
    for _ in range(3):
        path = f"/personas/{crowd.draft()['id']}"
        acts = [("POST", f"{path}/publish", None), ("PATCH", path, {"soul": ""}), ("DELETE", path, None)]
        _at_once([partial(_said, crowd, *act) for act in acts])
    assert not Persona.objects.filter(owner=crowd.user).exclude(status="draft").filter(soul="").exists()


def _said(writer: Writer, method: str, path: str, body: Any) -> None:
    answer = getattr(writer.api, method.lower())(path, body, format="json")
    assert answer.status_code in {200, 204, 400, 404}


def test_the_first_two_drafts_of_an_account_make_one_author(crowd: Writer) -> None:
    _at_once([lambda: crowd.draft(name="Owl")] * 4)
    assert Author.objects.get().name == authors.of(crowd.user.pk).name


def test_what_is_read_while_it_is_changed_is_of_one_moment(crowd: Writer) -> None:
    """Another connection writes after the persona was read, and before its related rows are read."""
    path = f"/personas/{crowd.draft()['id']}"
    article = {"title": "A", "lang": "en", "body": "x"}
    for where in ("/me/personas", f"/me{path}"):
        before = crowd.get(where)
        texts = {"tagline": where, "ru": FULL["ru"] | {"tagline": where}}
        writes = [partial(crowd.patch, path, texts), partial(crowd.post, f"{path}/articles", article)]

        def write_between(execute: Any, sql: str, *rest: Any, writes: list[Any] = writes) -> Any:
            found = execute(sql, *rest)
            while 'FROM "catalog_persona"' in sql and writes:
                assert len(_at_once([writes.pop()])) == 1
            return found

        with connection.execute_wrapper(write_between):
            assert crowd.get(where) == before
        assert crowd.get(where) != before
