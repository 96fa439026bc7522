"""The catalog from the data files, a copy of the files to change, and a persona that somebody published."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from catalog import files, loading, snapshot
from catalog.models import Persona
from catalog.vocabulary import Category, PersonaStatus, TierId
from tests.catalog import loaded
from tests.catalog.writing import Writer
from tests.patience import wait_until
from tests.webs import Web

LISTS = set(files.LISTS.values())


@pytest.fixture(autouse=True)
def fresh_memory() -> Iterator[None]:
    """Forget the catalog in memory, so that no test sees the catalog of another test."""
    snapshot.forget()
    yield
    snapshot.forget()


@pytest.fixture(scope="session")
def contents() -> files.Contents:
    return loaded.contents()


@pytest.fixture
def catalog(db: None, contents: files.Contents) -> loading.Report:
    return loaded.load(contents)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(shutil.copytree(files.DATA, tmp_path / "data"))


@pytest.fixture
def author(db: None) -> User:
    return User.objects.create_user("author@example.com")


@pytest.fixture
def community(catalog: loading.Report, author: User) -> Persona:
    """A published community persona without optional fields."""
    return Persona.objects.create(
        id="night-owl",
        icon="🦉",
        name="Night Owl",
        tagline="Company after midnight",
        for_who="People who work at night",
        does=["Keeps you awake"],
        category=Category.SOCIAL,
        tier=TierId.SMALL,
        channels=["web"],
        soul="You are Night Owl.",
        status=PersonaStatus.PUBLISHED,
        owner=author,
        author="Olga",
    )


@pytest.fixture(scope="session")
def started(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Web]]:
    """Two web processes, kept for the following tests, as operators keep web processes running."""
    logs = tmp_path_factory.mktemp("webs")
    webs = [Web(logs / f"{number}.log") for number in range(2)]
    try:
        for web in webs:
            web.wait()
        yield webs
    finally:
        for web in webs:
            web.stop()


@pytest.fixture
def webs(transactional_db: None, started: list[Web]) -> list[Web]:
    """Two web processes, each with the catalog in its memory."""
    loading.load()
    for path in ("/tiers", "/personas"):
        wait_until(partial(_all_say, started, path, APIClient().get(path).json()), seconds=10)
    return started


def _all_say(webs: list[Web], path: str, said: object) -> bool:
    """Whether all processes give this answer, so that none still has the catalog of an earlier test."""
    return all(web.get(path).json() == said for web in webs)


@pytest.fixture
def shelf(db: None, contents: files.Contents) -> None:
    """The catalog with only one built-in persona, exam-coach: faster to load, and enough for tests of writing."""
    few = files.Contents(rows={model: copy.deepcopy(rows) for model, rows in contents.rows.items() if model in LISTS})
    few.rows[Persona] = [copy.copy(row) for row in contents.rows[Persona] if row.pk == "exam-coach"]
    loading.write(few)


@pytest.fixture
def writer(shelf: None, author: User) -> Writer:
    """The author's client."""
    return Writer(author)


@pytest.fixture
def stranger(shelf: None) -> Writer:
    """Another author's client."""
    return Writer(User.objects.create_user("stranger@example.com"))
