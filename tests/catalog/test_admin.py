"""The catalog in the console: search, validation, protection of rows from files, and news to every process."""

from __future__ import annotations

import os
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.db import connection
from django.forms import BaseForm, CheckboxInput
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from catalog import listing, loading, refreshing, version
from catalog.models import Article, CatalogRow, Engine, LlmModel, LlmProvider, Persona, PersonaL10n, Tier, Toolset
from catalog.vocabulary import ArticleStatus
from config.operator_settings.models import SettingChange
from tests import operating
from tests.catalog.listed import document, model, provider

pytestmark = pytest.mark.usefixtures("catalog")

TABLES = [Tier, Engine, LlmProvider, LlmModel, Toolset, Persona, PersonaL10n]
each_table = pytest.mark.parametrize("model", TABLES, ids=lambda model: model.__name__)


@pytest.fixture
def console(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def url(row: CatalogRow | Article | type[CatalogRow] | type[Article], tail: str = "") -> str:
    name = (row if isinstance(row, type) else type(row)).__name__.lower()
    return f"/admin/catalog/{name}/" + (tail if isinstance(row, type) else f"{quote(row.pk)}/change/")


def as_browser(form: BaseForm) -> dict[str, Any]:
    """The values that a browser would send for this form."""
    sent: dict[str, Any] = {}
    for bound in form:
        value = bound.value()
        if isinstance(bound.field.widget, CheckboxInput):
            sent |= {bound.html_name: "on"} if value else {}
        elif value is not None:
            sent[bound.html_name] = str(value).replace("\n", "\r\n")
    return sent


def opened(console: Client, address: str) -> dict[str, Any]:
    context = console.get(address).context
    sent = as_browser(context["adminform"].form)
    for inline in context["inline_admin_formsets"]:
        for form in (inline.formset.management_form, *inline.formset.forms):
            sent |= as_browser(form)
    return sent


def token() -> str:
    return version.CatalogVersion.objects.get().token


@pytest.mark.sampled
@each_table
def test_saving_a_row_as_it_stands_edits_nothing(console: Client, model: type[CatalogRow]) -> None:
    before = token()
    for row in model.objects.all()[:6]:
        answer = console.post(url(row), opened(console, url(row)))
        assert answer.status_code == 302, answer.context["errors"]
    assert token() == before
    assert loading.load().kept == []


def test_an_edit_reaches_all_processes_and_outlives_the_next_load(console: Client) -> None:
    before, engine = token(), Engine.objects.get(id="pi")
    console.post(
        url(engine), {**opened(console, url(engine)), "label": "Pie", "toolsets": "file\r\n\r\n terminal \r\n"}
    )
    engine.refresh_from_db()
    assert (engine.label, engine.toolsets) == ("Pie", ["file", "terminal"])
    assert token() != before
    assert loading.load().kept == ["engine pi (label, toolsets)"]
    assert "edited: label, toolsets" in console.get(url(engine)).content.decode()


def test_an_edit_of_a_localization_inside_its_persona_reaches_all_processes(console: Client) -> None:
    before, persona = token(), Persona.objects.get(id="exam-coach")
    sent = opened(console, url(persona))
    field = next(name for name, value in sent.items() if value == "Тренер по экзаменам")
    answer = console.post(url(persona), {**sent, field: "Репетитор"})
    assert answer.status_code == 302, answer.context["errors"]
    assert PersonaL10n.objects.get(persona=persona, lang="ru").name == "Репетитор"
    assert token() != before
    assert loading.load().kept == ["localization exam-coach ru (name)"]


def test_a_save_keeps_the_deployments_counted_meanwhile(console: Client) -> None:
    persona = Persona.objects.get(id="exam-coach")
    sent = opened(console, url(persona))
    Persona.objects.filter(id=persona.id).update(deployed_count=9)
    console.post(url(persona), {**sent, "icon": "📚"})
    persona.refresh_from_db()
    assert (persona.icon, persona.deployed_count) == ("📚", 9)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("row", "edit", "problem"),
    [
        (("pi", Engine), {"toolsets": "file\nlaser"}, "not in the catalog: laser"),
        (
            ("pi", Engine),
            {"llm_providers": "openai\nacme"},
            "&#x27;acme&#x27;: Value &#x27;acme&#x27; is not a valid choice.",
        ),
        (("pi", Engine), {"min_tier": "nano"}, "Select a valid choice. nano"),
        (("tiny", Tier), {"monthly_usd": "-1"}, "greater than or equal to 0"),
        (("xai:grok-4.3", LlmModel), {"provider": "openai"}, "the id must be openai:&lt;model name&gt;"),
        (("openai", LlmProvider), {"env_var": "openai key"}, "must look like A_NAME"),
        (("exam-coach", Persona), {"recommended_models": "openai:gpt-1"}, "not in the catalog: openai:gpt-1"),
        (("exam-coach", Persona), {"risk": "high"}, "is required when the risk is high"),
        (("exam-coach", Persona), {"does": "Something else"}, "must have exactly the labels of `does`"),
        (("exam-coach", Persona), {"demo": '[{"role": "boss", "text": "Hi"}]'}, "line 1 must be"),
        (("exam-coach", Persona), {"demo": "not JSON"}, "Enter a valid JSON"),
        (("exam-coach", Persona), {"status": "draft"}, "a built-in persona has no owner"),
        (("exam-coach", Persona), {"soul": "x" * 12_001}, "at most 12000 characters"),
    ],
)
def test_a_wrong_value_is_refused_beside_its_field(
    console: Client, row: tuple[str, type[CatalogRow]], edit: dict[str, str], problem: str
) -> None:
    before, (key, model) = token(), row
    address = url(model.objects.get(pk=key))
    answer = console.post(address, {**opened(console, address), **edit})
    assert answer.status_code == 200
    assert problem in answer.content.decode()
    assert token() == before


def test_a_new_price_is_kept_with_the_old_one_and_who_set_it(console: Client) -> None:
    address = url(Tier.objects.get(pk="tiny"))
    before = Tier.objects.get(pk="tiny").monthly_usd
    console.post(address, {**opened(console, address), "name": "Little"})
    assert not SettingChange.objects.exists(), "a name is no price"
    refused = console.post(address, {**opened(console, address), "monthly_usd": "6.50"})
    assert "Write why the price changes." in refused.content.decode()
    assert not SettingChange.objects.exists()
    console.post(address, {**opened(console, address), "monthly_usd": "6.50", "reason": "dearer memory"})
    change, operator = SettingChange.objects.get(), User.objects.get(email="operator@example.com")
    assert (change.name, change.actor) == ("monthly USD of tiny", f"operator:{operator.pk}")
    assert (change.before, change.after, change.reason) == (str(before), "6.50", "dearer memory")


BAD_JSON = {
    '"\\ud800"': "NUL or unpaired surrogates",
    '{"A": "\\ud800"}': "A: text may not contain NUL or unpaired surrogates",
    '[{"role": "user", "text": "\\u0000"}]': "[0].text: text may not contain NUL or unpaired surrogates",
    "[" * 2_000: "nested too deeply",
    "[" * 2_000 + "]" * 2_000: "nested too deeply",
    "[" * 300 + "]" * 300: "nested too deeply",
    "[" * 21 + "1" + "]" * 21: "nested too deeply",
    "[NaN]": "not valid JSON",
    "9" * 5_000: "not valid JSON",
}


@pytest.mark.sampled
@pytest.mark.parametrize("typed", BAD_JSON, ids=range(len(BAD_JSON)))
@pytest.mark.parametrize("field", ["does_examples", "demo"])
def test_json_that_cannot_be_stored_is_refused_beside_its_field(console: Client, field: str, typed: str) -> None:
    before, persona = token(), Persona.objects.get(id="exam-coach")
    sent = opened(console, url(persona))
    inlined = f"localizations-0-{field}"
    assert inlined in sent
    answer = console.post(url(persona), {**sent, field: typed, inlined: typed})
    assert answer.status_code == 200
    localizations = answer.context["inline_admin_formsets"][0].formset
    for form in (answer.context["adminform"].form, localizations.forms[0]):
        assert BAD_JSON[typed] in str(form.errors.as_data()[field])
        assert form[field].value() == typed
    localization = PersonaL10n.objects.filter(persona=persona)[0]
    answer = console.post(url(localization), {**opened(console, url(localization)), field: typed})
    assert list(answer.context["adminform"].form.errors) == [field]
    assert token() == before


@pytest.mark.parametrize("model", [Article, PersonaL10n])
def test_an_id_that_no_persona_can_have_is_refused_beside_its_field(console: Client, model: type[CatalogRow]) -> None:
    address = url(model, "add/")
    answer = console.post(address, {**opened(console, address), "persona": "exam\0coach"})
    assert answer.status_code == 200
    errors = answer.context["adminform"].form.errors
    assert errors["persona"] == ["Null characters are not allowed."]


def test_optional_texts_are_emptied_to_nothing(console: Client) -> None:
    persona = Persona.objects.get(id="exam-coach")
    sent = opened(console, url(persona))
    console.post(url(persona), {**sent, "disclaimer": " ", "demo": "", "does_examples": ""})
    persona.refresh_from_db()
    assert (persona.disclaimer, persona.demo, persona.does_examples) == (None, None, None)


def test_an_operator_adds_a_persona_of_the_house(console: Client) -> None:
    address = url(Persona, "add/")
    sent = opened(console, address)
    assert (sent["status"], sent["author"]) == ("builtin", "Agentpods")
    new = {"id": "night-owl", "icon": "🦉", "name": "Night Owl", "tagline": "Company", "for_who": "Night workers"}
    more = {"does": "Talks", "category": "social", "tier": "tiny", "soul": "You are Night Owl.", "channels": "web"}
    answer = console.post(address, {**sent, **new, **more})
    assert answer.status_code == 302, answer.context["errors"]
    assert Persona.objects.get(id="night-owl").public
    assert not loading.load().changed


@pytest.mark.sampled
@each_table
def test_rows_are_hidden_and_never_deleted(console: Client, model: type[CatalogRow]) -> None:
    row = model.objects.all()[0]
    assert console.get(url(row).replace("/change/", "/delete/")).status_code == 403
    before = token()
    chosen = {"_selected_action": [row.pk]}
    asking = operating.choose(console, url(model), "hide", row)
    row.refresh_from_db()
    assert not row.hidden
    operating.send(console, asking, reason="no engine has it")
    row.refresh_from_db()
    assert row.hidden
    assert token() != before
    console.post(url(model), {"action": "offer", **chosen})
    row.refresh_from_db()
    assert row.offered
    assert [entry.change_message for entry in LogEntry.objects.order_by("id")] == [
        "Hidden: no engine has it",
        "Offered again.",
    ]
    page = console.post(url(model), {"action": "delete_selected", **chosen}, follow=True)
    assert model.objects.filter(pk=row.pk).exists()
    assert page.status_code == 200


@pytest.mark.sampled
@each_table
def test_rows_are_found_and_filtered(console: Client, model: type[CatalogRow]) -> None:
    assert console.get(url(model), {"q": "exam-coach", "hidden__exact": "0", "gone__exact": "0"}).status_code == 200
    assert console.get(url(model), {"q": "no such row"}).context["cl"].result_count == 0


@each_table
def test_a_list_takes_the_same_queries_for_any_number_of_rows(console: Client, model: type[CatalogRow]) -> None:
    counts = []
    for narrowed in ({"position__lt": 1}, {}):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            console.get(url(model), narrowed)
        counts.append(len(queries))
    assert counts[1] <= max(counts[0], 8)


@pytest.mark.parametrize("digits", ["40", "0f"])  # the admin writes `_40` and the like differently in its addresses
def test_articles_are_written_found_and_deleted_for_all_processes(
    console: Client, digits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda size: digits + os.urandom(size - 1).hex())
    add = url(Article, "add/")
    sent = opened(console, add)
    new = {
        "persona": "exam-coach",
        "slug": "first",
        "title": "First",
        "body": "# Hello",
        "status": ArticleStatus.PUBLISHED,
    }
    before = token()
    assert console.post(add, {**sent, **new}).status_code == 302
    article = Article.objects.get()
    written = token()
    assert console.post(url(article), {**opened(console, url(article)), "slug": "Not a slug"}).status_code == 200
    with CaptureQueriesContext(connection) as queries:
        assert console.get(url(Article), {"q": "exam"}).context["cl"].result_count == 1
    assert not any('"body"' in query["sql"] for query in queries)
    console.post(url(Article), {"action": "delete_selected", "_selected_action": [article.pk], "post": "yes"})
    assert Article.objects.exists()
    operating.act(console, url(Article), "delete_rows", article, reason="a test")
    assert not Article.objects.exists()
    assert len({before, written, token()}) == 3


def test_an_edited_article_is_shown_as_it_is_now(console: Client, community: Persona) -> None:
    article = Article.objects.create(persona=community, slug="first", title="First", body="# Hello")
    sent = opened(console, url(article))
    assert console.post(url(article), {**sent, "body": "*Bye*"}).status_code == 302
    assert Article.objects.get().html == "<p><em>Bye</em></p>\n"
    refused = console.post(url(article), {**sent, "body": "```\n" + "&" * 65_528})
    assert refused.context["adminform"].form.errors == {"body": ["would be 327665 bytes of HTML; at most 262144"]}
    assert Article.objects.get().body == "*Bye*"


def test_the_version_is_shown_and_never_edited(console: Client) -> None:
    assert token() in console.get("/admin/catalog/catalogversion/").content.decode()
    assert console.get("/admin/catalog/catalogversion/add/").status_code == 403
    assert console.get("/admin/catalog/catalogversion/1/delete/").status_code == 403
    assert console.post("/admin/catalog/catalogversion/1/change/", {"token": "x"}).status_code == 403


def test_authored_text_is_never_markup(console: Client, community: Persona) -> None:
    evil = "<script>alert(1)</script>"
    Persona.objects.filter(id=community.id).update(name=evil, tagline=evil, soul=evil, author=evil)
    for address in (url(Persona), url(community)):
        assert evil not in console.get(address).content.decode()


def test_a_model_says_what_a_refresh_did_to_it_and_may_be_offered_again(console: Client) -> None:
    listed = provider("openrouter", model("lab/nine", 9, 90))
    refreshing.refresh(listing.parse(document(listed)), source="models.example", now=timezone.now(), write=True)
    page = console.get(url(LlmModel) + "?provider=openrouter").content.decode()
    assert page.count("made by a refresh") == 1
    assert page.count("as loaded; taken off by a refresh") == 1
    taken_off = "openrouter:openai/gpt-6-astra"
    console.post(url(LlmModel), {"action": "offer", "_selected_action": [taken_off]})
    row = LlmModel.objects.get(id=taken_off)
    assert (row.offered, row.pinned) == (True, True)
