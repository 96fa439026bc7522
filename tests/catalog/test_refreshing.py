"""Refreshing the models: which are added, removed and kept, and who may undo a change."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog import listing, llm_models, loading, models_in_use, refreshing, snapshot, version, visibility
from catalog.models import LlmModel, LlmProvider, Persona
from catalog.refreshing import Diff
from tests.catalog.listed import document, model, provider

pytestmark = pytest.mark.usefixtures("catalog")

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
UNUSED = "openrouter:openai/gpt-6-astra"  # in the data files, but recommended by no persona


def refresh(*providers: dict[str, Any], write: bool = True, newest: int = 2, now: datetime = NOW) -> Diff:
    found = listing.parse(document(*providers))
    diff = refreshing.refresh(found, source="models.example", now=now, newest=newest, write=write)
    snapshot.forget()
    return diff


def changes(diff: Diff) -> list[str]:
    return [*diff.added, *diff.repriced, *diff.returned, *diff.hidden]


def offered(provider: str) -> list[str]:
    snapshot.forget()
    return [row.name for row in llm_models.offered(provider)]


def row(model_id: str) -> LlmModel:
    return LlmModel.objects.get(id=model_id)


def token() -> str:
    return version.CatalogVersion.objects.get().token


def make_own() -> None:
    LlmModel.objects.create(
        id="openrouter:own/one",
        provider="openrouter",
        label="Own",
        input_usd=1,
        output_usd=2,
        source="us",
        checked_at=NOW.date(),
    )


def change(source: Path, old: str, new: str) -> None:
    """Change a copy of the data files."""
    path = source / "models.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def everything() -> list[dict[str, Any]]:
    return list(LlmModel.objects.order_by("id").values())


GROQ = provider("groq", model("openai/gpt-oss-120b", "0.15", "0.60"), model("llama-9:instant", 0.2, 0.4, "2026-11-01"))


def test_a_new_model_is_offered_with_its_prices_and_where_they_were_found() -> None:
    diff = refresh(GROQ)
    assert diff.added == ["groq:llama-9:instant (Llama-9:Instant): 0.2 / 0.4 cheap"]
    new = row("groq:llama-9:instant")
    assert (new.provider, new.name, new.offered) == ("groq", "llama-9:instant", True)
    assert (new.input_usd, new.output_usd) == (Decimal("0.2"), Decimal("0.4"))
    assert (new.source, new.checked_at, new.refreshed_at) == ("models.example", date(2026, 12, 1), NOW)


def test_new_models_come_after_the_reviewed_ones_the_newest_first() -> None:
    refresh(
        provider(
            "groq",
            model("a-old", 2, 4, "2026-10-01"),
            model("b-new", 2, 4, "2026-11-01"),
            GROQ["models"]["openai/gpt-oss-120b"],
        )
    )
    assert offered("groq")[-2:] == ["b-new", "a-old"]


def test_the_newest_of_each_class_are_offered_and_no_older_ones() -> None:
    prices = {"cheap": (0.1, 0.4), "mid": (1, 8), "premium": (5, 25)}
    models = [model(f"{tier}-{day}", *usd, f"2027-01-0{day}") for tier, usd in prices.items() for day in (1, 2, 3)]
    diff = refresh(provider("deepseek", *models))
    assert [line.split(" ")[0].removeprefix("deepseek:") for line in diff.added] == [
        "cheap-2",
        "cheap-3",
        "mid-2",
        "mid-3",
        "premium-2",
        "premium-3",
    ]
    assert diff.skipped == {"older than the newest 2 of their class": 3}
    assert len(refresh(provider("deepseek", *models), newest=3, write=False).added) == 3


def test_of_one_day_the_vendors_short_name_is_taken() -> None:
    chosen = provider("xai", model("grok-9-20270101", 1, 9, "2027-01-01"), model("grok-9", 1, 9, "2027-01-01"))
    assert [line.split(" ")[0] for line in refresh(chosen, newest=1).added] == ["xai:grok-9"]


def test_a_free_model_is_cheap_but_takes_no_paid_ones_place() -> None:
    free, paid = model("lab/nine:free", 0, 0, "2027-02-02"), model("lab/eight", 0.1, 0.2, "2027-01-01")
    assert offered_after(provider("openrouter", free, paid), newest=1) == ["lab/eight"]
    diff = refresh(provider("openrouter", free), newest=1)
    assert "openrouter:lab/nine:free (Nine:Free): 0 / 0 cheap" in diff.added
    assert row("openrouter:lab/nine:free").name == "lab/nine:free"


def offered_after(listed: dict[str, Any], *, newest: int) -> list[str]:
    return [line.split(" ")[0].partition(":")[2] for line in refresh(listed, newest=newest, write=False).added]


def test_a_changed_price_is_followed_and_its_class_with_it() -> None:
    diff = refresh(provider("groq", model("openai/gpt-oss-20b", 1.5, "3.25"), GROQ["models"]["openai/gpt-oss-120b"]))
    assert diff.repriced == ["groq:openai/gpt-oss-20b: 0.075 / 0.3 cheap -> 1.5 / 3.25 mid"]
    changed = row("groq:openai/gpt-oss-20b")
    assert (changed.input_usd, changed.output_usd, changed.cost_tier) == (Decimal("1.5"), Decimal("3.25"), "mid")
    assert (changed.source, changed.checked_at) == ("models.example", date(2026, 12, 1))


def test_what_is_neither_new_nor_in_use_is_hidden_and_nothing_deleted() -> None:
    before = LlmModel.objects.count()
    diff = refresh(provider("openrouter", model("lab/nine", 9, 90)))
    assert diff.hidden == [f"{UNUSED}: no longer listed"]
    assert not row(UNUSED).offered
    assert UNUSED.partition(":")[2] not in offered("openrouter")
    assert LlmModel.objects.count() == before + 1
    with pytest.raises(llm_models.UnknownModel):
        llm_models.known_model(UNUSED)


@pytest.mark.parametrize(
    ("given", "why"),
    [({"status": "deprecated"}, "deprecated"), ({"tool_call": False}, "no tool calls"), ({"cost": None}, "no prices")],
)
def test_why_a_model_is_hidden_is_said(given: dict[str, Any], why: str) -> None:
    listed = provider("openrouter", model("lab/nine", 9, 90), model("openai/gpt-6-astra", 10, 50, **given))
    assert refresh(listed).hidden == [f"{UNUSED}: {why}"]


def test_what_personas_recommend_stays_whatever_the_list_says_of_it() -> None:
    retired = model("openai/gpt-oss-120b", "0.15", "0.60", status="deprecated")
    diff = refresh(provider("groq", retired, GROQ["models"]["llama-9:instant"]))
    line = next(line for line in diff.kept if line.startswith("groq:openai/gpt-oss-120b: "))
    recommending = Persona.objects.filter(recommended_models__contains=["groq:openai/gpt-oss-120b"]).order_by("id")
    slugs = [persona.id for persona in recommending]
    assert line.endswith(f": deprecated; in use by personas {', '.join(slugs[:3])} and {len(slugs) - 3} more")
    assert "openai/gpt-oss-120b" in offered("groq")


def test_what_a_community_persona_recommends_stays_while_it_is_public(community: Persona) -> None:
    community.recommended_models = [UNUSED]
    community.save()
    listed = provider("openrouter", model("lab/nine", 9, 90))
    assert f"{UNUSED}: no longer listed; in use by persona night-owl" in refresh(listed).kept
    community.status = "draft"
    community.save()
    assert refresh(listed).hidden == [f"{UNUSED}: no longer listed"]
    community.status = "published"
    community.save()
    assert refresh(listed).returned == [f"{UNUSED} (GPT-6 Astra): in use by persona night-owl"]
    assert row(UNUSED).offered


def test_a_model_recommended_under_one_of_googles_ids_stays_under_both() -> None:
    diff = refresh(provider("google", model("gemini-9", 1, 2)))
    kept = {line.split(": ")[0] for line in diff.kept}
    assert {"gemini:gemini-3.8-flash", "google:gemini-3.8-flash"} <= kept


def test_an_app_that_uses_models_says_how_many_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models_in_use, "_counts", {})
    models_in_use.register("robot", lambda: {UNUSED: 2})
    diff = refresh(provider("openrouter", model("lab/nine", 9, 90)))
    assert f"{UNUSED}: no longer listed; in use by 2 robots" in diff.kept


def test_a_pinned_model_and_one_made_here_stay() -> None:
    LlmModel.objects.filter(id=UNUSED).update(pinned=True)
    make_own()
    diff = refresh(provider("openrouter", model("lab/nine", 9, 90), model("own/one", 3, 4, status="deprecated")))
    assert f"{UNUSED}: no longer listed; pinned" in diff.kept
    assert "openrouter:own/one: deprecated; made here" in diff.kept
    assert diff.hidden == []


def test_a_model_made_here_follows_its_price_and_stays_the_operators() -> None:
    make_own()
    assert refresh(provider("openrouter", model("own/one", 3, 4))).repriced == [
        "openrouter:own/one: 1 / 2 mid -> 3 / 4 mid"
    ]
    assert refreshing.made_here(row("openrouter:own/one"))


def test_a_hidden_model_that_the_list_has_again_is_offered_again() -> None:
    refresh(provider("openrouter", model("lab/nine", 9, 90)))
    again = refresh(provider("openrouter", model("openai/gpt-6-astra", 12, 50)))
    assert again.returned == [f"{UNUSED} (GPT-6 Astra): 12 / 50 premium"]
    assert row(UNUSED).offered


def test_a_model_that_an_operator_hid_stays_hidden_and_takes_nobodys_place() -> None:
    visibility.hide(LlmModel, ["groq:openai/gpt-oss-20b"])
    listed = provider("groq", model("openai/gpt-oss-20b", 0.1, 0.3, "2027-01-01"), model("llama-9", 0.1, 0.3))
    diff = refresh(listed, newest=1)
    assert [line.split(" ")[0] for line in diff.added] == ["groq:llama-9"]
    assert diff.skipped["hidden by an operator"] == 1
    assert not row("groq:openai/gpt-oss-20b").offered
    assert row("groq:openai/gpt-oss-20b").input_usd == Decimal("0.1")


def test_a_model_that_an_operator_offers_again_is_pinned() -> None:
    listed = provider("openrouter", model("lab/nine", 9, 90))
    refresh(listed)
    assert visibility.offer(LlmModel, [UNUSED]) == 1
    assert row(UNUSED).offered
    assert f"{UNUSED}: no longer listed; pinned" in refresh(listed).kept


def test_a_malformed_entry_changes_nothing_of_a_model_that_we_have() -> None:
    before = LlmModel.objects.filter(id=UNUSED).values().get()
    broken = model("openai/gpt-6-astra", -5, 50)
    diff = refresh(provider("openrouter", model("lab/nine", 9, 90), broken))
    assert f"{UNUSED}: malformed in the list, so nothing is known of it" in diff.kept
    assert LlmModel.objects.filter(id=UNUSED).values().get() == before


def test_providers_that_the_list_does_not_have_are_left_alone() -> None:
    nous = list(LlmModel.objects.filter(provider__in=["nous", "xai"]).values())
    diff = refresh(GROQ, provider("xai", model("grok-9", 1, 2, status="deprecated")))
    assert {"nous", "xai", "openai"} <= set(diff.untouched)
    assert list(LlmModel.objects.filter(provider__in=["nous", "xai"]).values()) == nous


def test_a_dry_run_says_the_same_and_writes_nothing() -> None:
    before, first = everything(), token()
    dry = refresh(GROQ, write=False)
    assert (everything(), token()) == (before, first)
    assert refresh(GROQ) == dry
    assert token() != first


def test_a_second_run_changes_nothing() -> None:
    refresh(GROQ)
    after = everything()
    again = refresh(GROQ)
    assert changes(again) == []
    assert everything() == after


def test_a_refresh_asks_the_database_as_often_however_many_models_there_are() -> None:
    refresh(GROQ)
    with CaptureQueriesContext(connection) as one:
        refresh(GROQ)
    with CaptureQueriesContext(connection) as many:
        refresh(*(provider(name, *(model(f"m-{n}", n, n) for n in range(30))) for name in ("openai", "google", "xai")))
    assert len(many) <= len(one) + 1  # all in one INSERT


def test_an_empty_catalog_cannot_be_refreshed() -> None:
    LlmModel.objects.all().delete()
    LlmProvider.objects.all().delete()
    with pytest.raises(refreshing.NothingToRefresh, match="run load_catalog first"):
        refresh(GROQ)


# Together with load_catalog, which runs at every start of the service.

WHOLE = provider(
    "openrouter", model("lab/nine", 9, 90), model("z-ai/glm-5.3", 1, 4), model("z-ai/glm-5.3-flash", 0.2, 0.5)
)


def test_a_later_load_of_the_same_files_undoes_nothing_of_a_refresh() -> None:
    refresh(WHOLE)
    after = everything()
    report = loading.load()
    assert not report.changed
    assert report.kept == []
    assert everything() == after
    assert not row(UNUSED).offered
    assert changes(refresh(WHOLE)) == []


def test_nor_does_a_load_that_overwrites_what_was_edited() -> None:
    refresh(WHOLE)
    after = everything()
    loading.load(overwrite=True)
    assert everything() == after


def test_a_refresh_on_the_day_of_the_files_check_holds_too() -> None:
    refresh(WHOLE, now=datetime(2026, 8, 31, 9, tzinfo=UTC))
    loading.load()
    assert row("openrouter:z-ai/glm-5.3").input_usd == Decimal(1)


def test_prices_that_the_files_check_after_a_refresh_are_newer(source: Path) -> None:
    refresh(WHOLE)
    old = 'input_usd: "1.40"\n  output_usd: "4.40"\n  source: openrouter.ai\n  checked_at: 2026-08-31'
    change(source, old, old.replace("1.40", "1.20").replace("2026-08-31", "2027-01-15"))
    assert loading.load(source).updated == ["LLM model openrouter:z-ai/glm-5.3"]
    assert row("openrouter:z-ai/glm-5.3").input_usd == Decimal("1.2")


def test_another_label_in_the_files_arrives_and_the_refreshed_price_stays(source: Path) -> None:
    refresh(WHOLE)
    change(source, "label: GLM 5.3 (Z.ai)", "label: GLM 5.3")
    assert loading.load(source).updated == ["LLM model openrouter:z-ai/glm-5.3"]
    found = row("openrouter:z-ai/glm-5.3")
    assert (found.label, found.input_usd) == ("GLM 5.3", Decimal(1))


def test_an_operators_edit_is_kept_through_a_refresh_and_a_load() -> None:
    edited = row("openrouter:z-ai/glm-5.3")
    edited.label = "Our favourite"
    edited.save(update_fields=["label"])
    refresh(WHOLE)
    assert loading.load().kept == ["LLM model openrouter:z-ai/glm-5.3 (label)"]
    found = row("openrouter:z-ai/glm-5.3")
    assert (found.label, found.input_usd) == ("Our favourite", Decimal(1))


def test_a_model_that_the_files_drop_but_the_list_has_is_the_refreshs_own(source: Path) -> None:
    path = source / "models.yaml"
    head, _, rest = path.read_text(encoding="utf-8").partition(f"- id: {UNUSED}\n")
    path.write_text(head + "- id: " + rest.partition("\n- id: ")[2], encoding="utf-8")
    assert loading.load(source).hidden == [f"LLM model {UNUSED}"]
    listed = provider("openrouter", model("openai/gpt-6-astra", 10, 50))
    assert refresh(listed).returned == [f"{UNUSED} (GPT-6 Astra): 10 / 50 premium"]
    assert not loading.load(source).changed
    assert row(UNUSED).offered
    assert refresh(provider("openrouter", model("lab/nine", 9, 90))).hidden == [f"{UNUSED}: no longer listed"]


def test_rows_that_a_refresh_made_are_none_of_a_loads() -> None:
    refresh(WHOLE)
    assert not loading.load().changed
    assert row("openrouter:lab/nine").offered


def test_a_model_that_a_later_releases_files_bring_too_stays_as_the_refresh_made_it() -> None:
    LlmModel.objects.filter(id=UNUSED).delete()
    refresh(provider("openrouter", model("openai/gpt-6-astra", 12, 50)))
    assert loading.load().kept == [f"LLM model {UNUSED} (made by a refresh)"]
    assert row(UNUSED).input_usd == Decimal(12)


def test_files_may_pin_a_model(source: Path) -> None:
    change(source, f"- id: {UNUSED}\n", f"- id: {UNUSED}\n  pinned: true\n")
    assert loading.load(source).updated == [f"LLM model {UNUSED}"]
    assert f"{UNUSED}: no longer listed; pinned" in refresh(provider("openrouter", model("lab/nine", 9, 90))).kept
