"""Notes of operators about a person: added in the console, never changed, exported and erased with the person."""

from __future__ import annotations

import pytest
from django.contrib.admin.utils import quote
from django.db import transaction
from django.db.utils import DatabaseError
from django.test import Client
from django.utils import timezone

from accounts import personal
from accounts.helping import looks, notes
from accounts.models import PersonNote, StaffLook, User
from tests import operating

USERS = "/admin/accounts/user/"

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> User:
    return User.objects.create_superuser("operator@example.com")


@pytest.fixture
def console(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann@example.com")


def test_a_note_is_on_the_persons_page_with_its_author_and_as_text(console: Client, ann: User) -> None:
    asking = console.get(f"{USERS}add-note/?id={ann.pk}")
    operating.send(console, asking, reason="Paid twice.\n<script>alert(1)</script>")
    page = console.get(f"{USERS}{quote(ann.pk)}/change/").content.decode()
    assert "Paid twice." in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "sent before" in operating.send(console, asking, reason="again", follow=True).content.decode()
    assert [note.author for note in notes.of(ann, most=5)] == ["operator@example.com"]


@pytest.mark.parametrize("text", ["", " ", "x" * 2_001, "x" * 1_000_000, "nul \0"])
def test_a_note_that_says_nothing_or_too_much_is_not_kept(console: Client, ann: User, text: str) -> None:
    answer = operating.send(console, console.get(f"{USERS}add-note/?id={ann.pk}"), reason=text)
    assert answer.context["form"].errors["reason"]
    assert not PersonNote.objects.exists()


def test_nobody_changes_a_note(console: Client, operator: User, ann: User) -> None:
    note = notes.add(ann, text="As it was", author=operator, now=timezone.now())
    assert console.post(f"/admin/accounts/personnote/{quote(note.pk)}/change/", {"text": "other"}).status_code == 403
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        PersonNote.objects.filter(pk=note.pk).update(text="other")


def test_the_person_gets_notes_and_looks_in_the_export_and_they_are_erased(operator: User, ann: User) -> None:
    now = timezone.now()
    notes.add(ann, text="Paid twice", author=operator, now=now)
    looks.begin(ann, operator=operator, console="key", reason="ticket 7", now=now)
    exported = dict(personal.exported(ann))
    assert [row["text"] for row in exported["notes"]] == ["Paid twice"]
    assert [set(row) for row in exported["seen-by-support"]] == [{"began_at", "ended_at"}]
    personal.erase(ann)
    assert not PersonNote.objects.exists()
    assert StaffLook.objects.get().reason == ""
