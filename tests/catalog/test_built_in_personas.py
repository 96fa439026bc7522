"""The built-in personas pass the review, and the review finds deliberate mistakes."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalog import files
from catalog.models import Persona, PersonaL10n
from catalog.vocabulary import Lang
from tests.catalog import reviewing
from tests.catalog.languages import TELLING, Languages, Shelf, sentences, telling

Data = dict[str, Any]
Change = Callable[[Data], None]
Check = Callable[[files.Contents], Iterator[str]]
Rewrite = Callable[[str, Change], files.Contents]

LANGUAGES = Lang.values


@pytest.fixture(scope="module")
def shelf(contents: files.Contents) -> Shelf:
    return reviewing.shelf(contents)


@pytest.fixture(scope="module")
def known(shelf: Shelf) -> Languages:
    return Languages(shelf)


@pytest.fixture
def rewrite(contents: files.Contents, tmp_path: Path) -> Rewrite:
    """Changes one more persona's file and returns the contents; unchanged files are not read again."""
    for name in files.LISTS:
        shutil.copy(files.DATA / f"{name}.yaml", tmp_path)
    (tmp_path / "personas").mkdir()

    def rewrite(persona: str, change: Change) -> files.Contents:
        data = as_given(persona)
        change(data)
        text = yaml.safe_dump(data, allow_unicode=True, sort_keys=False)
        (tmp_path / "personas" / f"{persona}.yaml").write_text(text, encoding="utf-8")
        return instead(contents, files.read(tmp_path))

    return rewrite


def as_given(persona: str) -> Data:
    data: Data = yaml.safe_load((files.DATA / "personas" / f"{persona}.yaml").read_text(encoding="utf-8"))
    return data


def instead(contents: files.Contents, changed: files.Contents) -> files.Contents:
    """The personas of `changed` in place of the personas with the same ids."""
    ids = changed.ids(Persona)
    others = [row for row in reviewing.personas(contents) if row.id not in ids]
    texts = [row for row in contents.rows[PersonaL10n] if isinstance(row, PersonaL10n) and row.persona_id not in ids]
    rows = dict(changed.rows)
    rows[Persona] = [*rows[Persona], *others]
    rows[PersonaL10n] = [*rows[PersonaL10n], *texts]
    return files.Contents(rows=rows)


def test_our_personas_have_nothing_wrong(contents: files.Contents, known: Languages) -> None:
    assert reviewing.review(contents, known) == []


def test_a_persona_written_again_as_it_is_changes_nothing(contents: files.Contents, rewrite: Rewrite) -> None:
    same = rewrite("budget-coach", lambda data: None)
    assert reviewing.shelf(same) == reviewing.shelf(contents)
    assert same.rows.keys() == contents.rows.keys()


def put(**columns: Any) -> Change:
    return lambda data: data.update(columns)


def say(lang: str, **columns: Any) -> Change:
    return lambda data: data["localizations"][lang].update(columns)


def everywhere(change: Change) -> Change:
    """The same change in English and in every language, because the loader demands the same structure."""

    def change_all(data: Data) -> None:
        for text in (data, *data["localizations"].values()):
            change(text)

    return change_all


def line(lang: str, number: int, text: str) -> Change:
    """Replaces a line of a demo in this language."""

    def change(data: Data) -> None:
        demo = data["localizations"][lang]["demo"]
        demo[number] = dict.fromkeys(demo[number], text)

    return change


def question(lang: str, text: str, *, everywhere: bool = False) -> Change:
    """Replaces the example question of the first label, or of all labels."""

    def change(data: Data) -> None:
        does = data["localizations"][lang]["does"]
        does.update(dict.fromkeys(list(does)[: None if everywhere else 1], text))

    return change


def swap(one: str, other: str) -> Change:
    """Exchanges the texts of two languages."""

    def change(data: Data) -> None:
        texts = data["localizations"]
        texts[one], texts[other] = texts[other], texts[one]

    return change


WORDS = "one two three four five six seven eight nine ten "
TEMPLATE = f"How you begin. Ask.\n\nWhat you do not do. Guess.\n\n{WORDS * 25}"
TAGLINE = "Find out where the money goes, and decide where it should go instead"
ENGLISH = "Rough numbers are enough to start with, and nobody will judge you for them."
PORTUGUESE = "Não se preocupe: os números podem ser aproximados, e ninguém vai julgar você por isso."
SPANISH = "No te preocupes: los números pueden ser aproximados y nadie te va a juzgar por eso."
INDONESIAN = "Angkanya boleh kira-kira saja, dan tidak ada yang akan menghakimi Anda karena itu."


@pytest.mark.parametrize(
    ("check", "change", "problem"),
    [
        (reviewing.categories, put(category="fun"), "fun: 4 personas"),
        (reviewing.categories, put(category="fun"), "life: 2 personas"),
        (reviewing.souls, put(soul=WORDS * 19), "budget-coach: soul: 190 words"),
        (reviewing.souls, put(soul=WORDS * 61), "budget-coach: soul: 610 words"),
        (reviewing.demos, everywhere(lambda text: text["demo"].__delitem__(slice(2, None))), "tr: demo: 2 lines"),
        (reviewing.demos, everywhere(lambda text: text["demo"].extend(text["demo"])), "en: demo: 12 lines"),
        (reviewing.demos, everywhere(lambda text: text["demo"].reverse()), "ru: demo: the user begins"),
        (
            reviewing.demos,
            everywhere(lambda text: text["demo"].insert(2, {"user": "Hm."})),
            "es: demo: the user begins",
        ),
        (reviewing.demos, everywhere(lambda text: text["demo"].pop()), "pt: demo: the agent has the last word"),
        (reviewing.examples, everywhere(lambda text: text["does"].popitem()), "budget-coach: ind: does: 3 labels"),
        (reviewing.examples, question("es", "Arma un presupuesto"), "budget-coach: es: doesExamples: no question"),
        (reviewing.examples, question("es", "¿Cuánto?", everywhere=True), "es: doesExamples: one question twice"),
        (reviewing.completeness, say("tr", tagline=TAGLINE), f"budget-coach: tr: tagline: left in English: {TAGLINE}"),
        (reviewing.completeness, say("tr", name="Budget Coach"), "budget-coach: tr: name: left in English"),
        (reviewing.disclaimers, put(risk="low"), "budget-coach: en: disclaimer: must be there exactly when"),
        (reviewing.disclaimers, put(risk="low"), "budget-coach: ind: disclaimer: must be there exactly when"),
        (reviewing.models, put(recommended_models=["nous:Hermes-4-70B"]), "recommendedModels: no engine takes nous"),
        (reviewing.models, put(recommended_models=["openai:gpt-6-luna"]), "recommendedModels: openai:gpt-6-luna"),
        (reviewing.words, put(tags=["money", "money", "budget", "saving"]), "budget-coach: tags: money, money"),
        (reviewing.words, put(tags=["money", "Pay Day", "budget", "saving"]), "budget-coach: tags: Pay Day"),
        (reviewing.words, put(skills=["budgeting"]), "budget-coach: skills: budgeting"),
        (reviewing.words, put(channels=["telegram", "web"]), "budget-coach: channels: telegram, web"),
        (reviewing.tiers, put(channels=["web", "telegram"]), "tier: no engine of tiny has web, telegram"),
        (reviewing.tiers, put(channels=["web", "whatsapp"], tier="small"), "no engine of small has web, whatsapp"),
        (reviewing.tiers, put(tier="medium"), "budget-coach: tier: tiny would do"),
        (reviewing.marks, say("ru", tagline='Поймите, куда уходят "деньги"'), 'budget-coach: ru: tagline: " in'),
        (reviewing.marks, say("tr", tagline="Paranın «nereye» gittiğini görün"), "budget-coach: tr: tagline: « »"),
        (reviewing.marks, say("pt", tagline="Descubra para onde vai o dinheiro..."), "pt: tagline: dots"),
        (reviewing.scripts, say("ru", name="Budget Trainer"), "budget-coach: ru: name: not in Cyrillic"),
        (reviewing.scripts, say("es", name="Кoach de presupuesto"), "budget-coach: es: name: in Cyrillic"),
    ],
)
def test_the_review_sees_what_is_wrong(rewrite: Rewrite, check: Check, change: Change, problem: str) -> None:
    problems = list(check(rewrite("budget-coach", change)))
    assert [found for found in problems if problem in found]
    assert check in reviewing.CHECKS


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        *((line(lang, 1, ENGLISH), f"budget-coach: {lang}: demo: in en") for lang in LANGUAGES),
        (line("es", 1, PORTUGUESE), "budget-coach: es: demo: in pt"),
        (line("pt", 1, SPANISH), "budget-coach: pt: demo: in es"),
        (line("tr", 1, INDONESIAN), "budget-coach: tr: demo: in ind"),
        (put(tagline=INDONESIAN), "budget-coach: en: tagline: in ind"),
        (question("ind", f"{ENGLISH} Right?"), "budget-coach: ind: doesExamples: in en"),
        (swap("es", "pt"), "budget-coach: es: all: in pt"),
    ],
)
def test_the_review_sees_another_language(rewrite: Rewrite, known: Languages, change: Change, problem: str) -> None:
    problems = list(reviewing.languages(rewrite("budget-coach", change), known, only="budget-coach"))
    assert [found for found in problems if problem in found]


def test_a_sentence_in_english_is_seen_inside_a_text_of_another_language(rewrite: Rewrite, known: Languages) -> None:
    def change(data: Data) -> None:
        demo = data["localizations"]["es"]["demo"]
        demo[1]["agent"] += f" {ENGLISH}"

    problems = list(reviewing.languages(rewrite("budget-coach", change), known, only="budget-coach"))
    assert problems == [f"budget-coach: es: demo: in en: {ENGLISH}"]


def test_souls_that_say_the_same_are_seen(rewrite: Rewrite) -> None:
    other = as_given("meal-planner")["soul"]
    problems = list(reviewing.likenesses(rewrite("budget-coach", put(soul=f"You count. {other}"))))
    assert [problem.partition(":")[0] for problem in problems] == ["budget-coach"] * 2
    assert problems[0].endswith("% like meal-planner's")


def test_souls_of_one_template_are_seen(rewrite: Rewrite) -> None:
    rewrite("meal-planner", put(soul=TEMPLATE.replace("one", "pot")))
    problems = list(reviewing.likenesses(rewrite("budget-coach", put(soul=TEMPLATE))))
    assert "budget-coach: soul: built like meal-planner's: how you begin, what you do" in problems


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data["localizations"].pop("tr"), "localizations: must be exactly ru, es, pt, tr, ind"),
        (lambda data: data["localizations"]["es"].pop("tagline"), "es: tagline: This field cannot be blank."),
        (lambda data: data["localizations"]["pt"].pop("demo"), "pt: demo: must have the persona's speakers"),
        (lambda data: data["localizations"]["ind"].pop("disclaimer"), "ind: disclaimer: must be there exactly when"),
        (lambda data: data["localizations"]["ru"]["does"].popitem(), "ru: does: has 3 labels, the persona 4"),
        (say("ru", does=list("абвг"), does_examples={"а": "Что?"}), "ru: does_examples: "),
        (put(recommended_models=["openai:gpt-1"]), "recommended_models: not in the catalog: openai:gpt-1"),
        (put(channels=["pigeon"]), "channels: Item 1 in the array did not validate: Value 'pigeon' is not"),
        (put(category="money"), "category: Value 'money' is not a valid choice."),
        (put(risk="middling"), "risk: Value 'middling' is not a valid choice."),
        (put(tier="nano"), "tier: Value 'nano' is not a valid choice."),
    ],
)
def test_the_loader_refuses_what_no_review_need_see(rewrite: Rewrite, change: Change, problem: str) -> None:
    with pytest.raises(files.CatalogInvalid) as refusal:
        rewrite("budget-coach", change)
    assert problem in str(refusal.value)


def test_example_questions_below_other_labels_are_seen(contents: files.Contents) -> None:
    changed = copy.deepcopy(contents)
    _, _, text = next(found for found in reviewing.texts(changed) if found[:2] == ("budget-coach", "tr"))
    text.does_examples = {f"{label}!": question for label, question in (text.does_examples or {}).items()}
    assert list(reviewing.labels(changed)) == ["budget-coach: tr: doesExamples: not the labels of does"]


@pytest.mark.parametrize(("given", "taken_for"), [("en", lang) for lang in LANGUAGES] + [("ind", "en"), ("tr", "ind")])
def test_nearly_every_sentence_is_known_in_the_place_of_another_language(
    shelf: Shelf, known: Languages, given: str, taken_for: str
) -> None:
    assert share_seen(shelf, known, given, taken_for) > 0.99


@pytest.mark.parametrize(("given", "taken_for"), [("pt", "es"), ("es", "pt")])
def test_spanish_and_portuguese_are_told_apart(shelf: Shelf, known: Languages, given: str, taken_for: str) -> None:
    assert share_seen(shelf, known, given, taken_for) > 0.95


def share_seen(shelf: Shelf, known: Languages, given: str, taken_for: str) -> float:
    """The share of one language's sentences that would be noticed among the texts of another language."""
    asked = [
        known.foreign(sentence, persona=persona, lang=taken_for) is not None
        for persona, by in shelf.items()
        if persona not in reviewing.LESSONS
        for text in by[given]
        for sentence in sentences(text)
        if sum(map(len, telling(sentence))) >= TELLING
    ]
    return sum(asked) / len(asked)
