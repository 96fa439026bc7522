"""Loading the data files again and again, without losing the changes of operators."""

from __future__ import annotations

import threading
from decimal import Decimal
from pathlib import Path

import pytest
from django.db import connection, transaction

from accounts.models import User
from catalog import files, loading, version
from catalog.models import CatalogRow, Engine, Persona, PersonaL10n, Tier, Toolset
from tests.catalog.waiting import act_while_held

pytestmark = pytest.mark.django_db


def change(source: Path, name: str, old: str, new: str) -> None:
    path = source / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def drop(source: Path, name: str, start: str) -> None:
    path = source / name
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(start)]
    assert len(kept) == len(lines) - 1
    path.write_text("".join(kept), encoding="utf-8")


def drop_speech(source: Path) -> None:
    """Remove the toolset `tts`, which only one engine has."""
    drop(source, "toolsets.yaml", "- {id: tts,")
    path = source / "engines.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count("tts, stt") == 2
    path.write_text(text.replace("tts, stt", "stt"), encoding="utf-8")


def edit(row: CatalogRow, **columns: object) -> None:
    for name, value in columns.items():
        setattr(row, name, value)
    row.save(update_fields=list(columns))


def token() -> str | None:
    return version.CatalogVersion.objects.values_list("token", flat=True).first()


def test_an_empty_database_gets_everything(catalog: loading.Report) -> None:
    assert len(catalog.created) == sum(len(rows) for rows in files.read().rows.values())
    assert catalog.summary().endswith("created, 0 updated, 0 restored, 0 hidden, 0 kept, 0 unchanged")
    assert "tier tiny" in catalog.created
    assert "localization exam-coach ru" in catalog.created


def test_loading_again_changes_nothing_and_wakes_nobody(catalog: loading.Report) -> None:
    before = token()
    again = loading.load()
    assert not again.changed
    assert again.kept == []
    assert again.unchanged == len(catalog.created)
    assert token() == before


def test_a_changed_file_updates_its_row_and_wakes_every_process(catalog: loading.Report, source: Path) -> None:
    before = token()
    change(source, "tiers.yaml", "name: Tiny", "name: Teeny")
    report = loading.load(source)
    assert (report.updated, report.created, report.kept) == (["tier tiny"], [], [])
    assert Tier.objects.get(id="tiny").name == "Teeny"
    assert token() != before


def test_a_row_edited_in_the_admin_is_kept_and_reported(catalog: loading.Report, source: Path) -> None:
    edit(Tier.objects.get(id="tiny"), name="Mini")
    change(source, "tiers.yaml", 'monthly_usd: "5"', 'monthly_usd: "6"')
    report = loading.load(source)
    assert (report.kept, report.updated) == (["tier tiny (name)"], [])
    tier = Tier.objects.get(id="tiny")
    assert (tier.name, tier.monthly_usd) == ("Mini", Decimal(5))


def test_an_edited_row_is_reported_by_every_load(catalog: loading.Report) -> None:
    edit(Tier.objects.get(id="tiny"), name="Mini")
    assert loading.load().kept == loading.load().kept == ["tier tiny (name)"]


def test_overwrite_replaces_an_edited_row(catalog: loading.Report) -> None:
    edit(Tier.objects.get(id="tiny"), name="Mini")
    assert loading.load(overwrite=True).updated == ["tier tiny"]
    assert Tier.objects.get(id="tiny").name == "Tiny"
    assert loading.load().unchanged == len(catalog.created)


def test_an_edit_that_was_taken_back_is_none(catalog: loading.Report, source: Path) -> None:
    tier = Tier.objects.get(id="tiny")
    edit(tier, name="Mini")
    edit(tier, name="Tiny")
    change(source, "tiers.yaml", "name: Tiny", "name: Teeny")
    assert loading.load(source).updated == ["tier tiny"]


def test_an_edit_that_the_files_come_to_agree_with_is_none(catalog: loading.Report, source: Path) -> None:
    edit(Tier.objects.get(id="tiny"), name="Teeny")
    change(source, "tiers.yaml", "name: Tiny", "name: Teeny")
    assert loading.load(source).kept == []
    change(source, "tiers.yaml", "name: Teeny", "name: Micro")
    assert loading.load(source).updated == ["tier tiny"]


def test_a_row_hidden_by_an_operator_stays_hidden(catalog: loading.Report) -> None:
    edit(Toolset.objects.get(id="tts"), hidden=True)
    assert loading.load().kept == ["toolset tts (hidden)"]
    assert not Toolset.objects.get(id="tts").offered


def test_a_row_gone_from_the_files_is_hidden_and_comes_back(catalog: loading.Report, source: Path) -> None:
    drop_speech(source)
    assert loading.load(source).hidden == ["toolset tts"]
    assert not Toolset.objects.get(id="tts").offered
    assert loading.load(source).hidden == []
    report = loading.load()
    assert (report.restored, report.created) == (["toolset tts"], [])
    assert Toolset.objects.get(id="tts").offered


def test_a_row_gone_from_the_files_comes_back_as_the_files_now_have_it(catalog: loading.Report, source: Path) -> None:
    drop_speech(source)
    loading.load(source)
    fresh = source.parent / "later"
    source.rename(fresh)
    (fresh / "toolsets.yaml").write_text(
        (files.DATA / "toolsets.yaml").read_text().replace("name: Text-to-Speech", "name: Music")
    )
    assert loading.load(fresh).restored == ["toolset tts"]
    assert Toolset.objects.get(id="tts").name == "Music"


def test_an_edited_row_gone_from_the_files_is_hidden_with_its_edit(catalog: loading.Report, source: Path) -> None:
    edit(Toolset.objects.get(id="tts"), name="Music")
    drop_speech(source)
    assert loading.load(source).hidden == ["toolset tts (edited: name)"]
    back = loading.load()
    assert (back.restored, back.kept) == (["toolset tts"], ["toolset tts (name)"])
    toolset = Toolset.objects.get(id="tts")
    assert (toolset.name, toolset.offered) == ("Music", True)


def test_a_persona_gone_from_the_files_takes_its_localizations_with_it(catalog: loading.Report, source: Path) -> None:
    (source / "personas" / "game-master.yaml").unlink()
    report = loading.load(source)
    assert sorted(report.hidden) == sorted(
        ["persona game-master", *(f"localization game-master {lang}" for lang in ("ru", "es", "pt", "tr", "ind"))]
    )
    assert Persona.objects.filter(id="game-master").exists()


def test_an_edited_localization_is_kept_while_the_persona_is_updated(catalog: loading.Report, source: Path) -> None:
    edit(PersonaL10n.objects.get(persona="exam-coach", lang="ru"), name="Репетитор")
    change(source, "personas/exam-coach.yaml", 'name: "Exam Coach"', 'name: "Exam Trainer"')
    report = loading.load(source)
    assert report.updated == ["persona exam-coach"]
    assert report.kept == ["localization exam-coach ru (name)"]


def test_optional_columns_are_emptied_as_the_files_empty_them(catalog: loading.Report, source: Path) -> None:
    path = source / "personas" / "exam-coach.yaml"
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition("\ndemo:\n")
    path.write_text(head + "\nsoul:" + rest.partition("\nsoul:")[2], encoding="utf-8")
    with pytest.raises(files.CatalogInvalid, match="speakers"):
        loading.load(source)
    body, _, texts = path.read_text(encoding="utf-8").partition("\nlocalizations:\n")
    kept = [line for line in texts.splitlines() if not line.startswith(("      - ", "    demo:"))]
    path.write_text(body + "\nlocalizations:\n" + "\n".join(kept), encoding="utf-8")
    assert "persona exam-coach" in loading.load(source).updated
    assert Persona.objects.filter(id="exam-coach", demo__isnull=True).exists()
    assert loading.load(source).updated == []


def test_rows_made_by_hand_are_left_alone(catalog: loading.Report, community: Persona) -> None:
    Toolset.objects.create(id="abacus", name="Abacus", description="Counts.", group="thinking")
    assert not loading.load().changed
    assert Toolset.objects.get(id="abacus").offered


def test_a_row_made_by_hand_with_an_id_of_the_files_is_kept(catalog: loading.Report, source: Path) -> None:
    drop_speech(source)
    Toolset.objects.filter(id="tts").delete()
    Toolset.objects.create(id="tts", name="Radio", description="Plays.", group="voice")
    assert loading.load().kept == ["toolset tts (made by hand)"]
    assert loading.load(overwrite=True).updated == ["toolset tts"]


def test_a_community_persona_never_becomes_a_built_in_one(catalog: loading.Report, source: Path, author: User) -> None:
    Persona.objects.filter(id="game-master").update(owner=author, status="published")
    with pytest.raises(files.CatalogInvalid, match=r"personas/game-master.yaml: id: belongs to a community persona"):
        loading.load(overwrite=True)


def test_counts_and_owners_are_not_the_files_business(catalog: loading.Report, source: Path) -> None:
    Persona.objects.filter(id="exam-coach").update(deployed_count=7)
    change(source, "personas/exam-coach.yaml", 'name: "Exam Coach"', 'name: "Exam Trainer"')
    assert loading.load(source, overwrite=True).updated == ["persona exam-coach"]
    assert Persona.objects.get(id="exam-coach").deployed_count == 7


def test_a_column_newer_than_the_last_load_is_no_edit(catalog: loading.Report) -> None:
    row = Tier.objects.get(id="tiny")
    remembered = {name: digest for name, digest in row.loaded.items() if name != "cpu"}
    Tier.objects.filter(id="tiny").update(loaded={**remembered, "colour": "0" * 16}, cpu="9")
    assert loading.load().updated == ["tier tiny"]


def test_wrong_files_write_nothing(catalog: loading.Report, source: Path) -> None:
    before = token()
    change(source, "tiers.yaml", "name: Tiny", "name: Teeny")
    change(source, "engines.yaml", "min_tier: tiny", "min_tier: nano")
    with pytest.raises(files.CatalogInvalid):
        loading.load(source)
    assert Tier.objects.get(id="tiny").name == "Tiny"
    assert token() == before


@pytest.mark.django_db(transaction=True)
def test_loads_at_the_same_time_on_an_empty_database_create_each_row_once() -> None:
    reports: list[loading.Report] = []

    def run() -> None:
        try:
            reports.append(loading.load())
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(bool(report.created) for report in reports) == [False, False, False, True]
    assert Tier.objects.count() == 4


@pytest.mark.django_db(transaction=True)
def test_what_authors_write_at_the_same_time_is_not_waited_for(catalog: loading.Report, community: Persona) -> None:
    reports: list[loading.Report] = []

    def run() -> None:
        try:
            reports.append(loading.load())
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    with transaction.atomic():
        Persona.objects.select_for_update().get(id=community.id)
        thread.start()
        thread.join()
    assert [report.changed for report in reports] == [False]


@pytest.mark.django_db(transaction=True)
def test_several_rows_are_locked_in_the_order_of_their_ids(catalog: loading.Report) -> None:
    ids = sorted(Engine.objects.values_list("id", flat=True))
    assert ids != list(Engine.objects.values_list("id", flat=True))
    report = act_while_held(loading.load, [Engine.objects.filter(pk=pk) for pk in ids])
    assert not report.changed
