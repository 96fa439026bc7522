"""Reads the catalog's data files as unsaved rows. All problems of all files are found before anything is written.

Keys are column names. A persona's `does` maps each label to its example question, and a line of its `demo` maps the
speaker to the text, so neither can be incomplete.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from django.core.exceptions import NON_FIELD_ERRORS, FieldDoesNotExist, ValidationError

from catalog import engine_packages, references
from catalog.models import CatalogRow, Engine, LlmModel, LlmProvider, Persona, PersonaL10n, Tier, Toolset
from catalog.vocabulary import Category, Lang, PersonaStatus

DATA = Path(__file__).resolve().parent / "data"
HOUSE_AUTHOR = "Agentpods"
LISTS: dict[str, type[CatalogRow]] = {
    "tiers": Tier,
    "llm_providers": LlmProvider,
    "models": LlmModel,
    "toolsets": Toolset,
    "engines": Engine,
}
NOT_IN_FILES = {
    "loaded",
    "gone",
    "hidden",
    "position",
    "status",
    "owner",
    "author",
    "deployments",
    "deployed_count",
    "created_at",
    "updated_at",
    "published_at",
    "reviewed_at",
    "outdated",
    "refreshed_at",
}


class CatalogInvalid(Exception):  # short, as the rules say it
    """The data files cannot be loaded; `problems` names each file, row and column."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(slots=True)
class Contents:
    """The rows of the files, in the order in which they are written, and the problems found."""

    rows: dict[type[CatalogRow], list[CatalogRow]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def ids(self, model: type[CatalogRow]) -> set[str]:
        return {row.pk for row in self.rows[model]}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen at run time
    """Refuses a repeated key. Plain YAML would silently take the last value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"{key!r} is given twice{node.start_mark}")
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


def read(source: Path = DATA) -> Contents:
    """Read all files under `source`. Raises CatalogInvalid with all problems."""
    contents = Contents()
    for name, model in LISTS.items():
        contents.rows[model] = list(_read_list(source / f"{name}.yaml", model, contents.problems))
    contents.rows[Persona], contents.rows[PersonaL10n] = [], []
    contents.rows[Engine] += _read_engine_packages(len(contents.rows[Engine]), contents.problems)
    for path in sorted((source / "personas").glob("*.yaml")):
        _read_persona(path, contents)
    _order_personas(contents)
    _check_references(contents)
    if contents.problems:
        raise CatalogInvalid(contents.problems)
    return contents


def _read_list(path: Path, model: type[CatalogRow], problems: list[str]) -> Iterator[CatalogRow]:
    given = _parsed(path, list, problems)
    seen: set[str] = set()
    for position, columns in enumerate(given or []):
        where = f"{path.name}: {columns.get('id') if isinstance(columns, dict) else position}"
        row = _row(model, columns, where, problems, position=position)
        if row is None:
            continue
        if row.pk in seen:
            problems.append(f"{where}: is listed twice")
        seen.add(row.pk)
        yield row


def _read_engine_packages(first: int, problems: list[str]) -> Iterator[CatalogRow]:
    """The rows of third-party packages, after ours. catalog/checks.py reports packages that are broken."""
    for position, (engine_id, columns) in enumerate(engine_packages.found().rows.items(), first):
        where = f"engine package {engine_id}"
        row = _row(Engine, {"id": engine_id, **columns}, where, problems, position=position)
        if row is not None:
            yield row


def _read_persona(path: Path, contents: Contents) -> None:
    where = f"personas/{path.name}"
    given = _parsed(path, dict, contents.problems)
    if given is None:
        return
    texts = given.pop("localizations", None)
    columns = {"id": path.stem, **_spread(given)}
    persona = _row(Persona, columns, where, contents.problems, status=PersonaStatus.BUILTIN, author=HOUSE_AUTHOR)
    if not isinstance(persona, Persona):
        return
    if persona.pk != path.stem:
        contents.problems.append(f"{where}: id: {persona.pk!r} must be the file's name")
    contents.rows[Persona].append(persona)
    if not isinstance(texts, dict) or set(texts) != set(Lang.values):
        contents.problems.append(f"{where}: localizations: must be exactly {', '.join(Lang.values)}")
        return
    contents.rows[PersonaL10n] += _read_localizations(persona, texts, where, contents.problems)


def _read_localizations(
    persona: Persona, texts: dict[str, Any], where: str, problems: list[str]
) -> Iterator[PersonaL10n]:
    for position, lang in enumerate(Lang.values):
        place = f"{where}: {lang}"
        row = _row(PersonaL10n, _spread(texts[lang]), place, problems, persona=persona, lang=lang, position=position)
        if isinstance(row, PersonaL10n):
            problems += [f"{place}: {problem}" for problem in _differences(persona, row)]
            yield row


def _differences(persona: Persona, text: PersonaL10n) -> Iterator[str]:
    """The points in which a localization does not match its persona."""
    if len(text.does) != len(persona.does):
        yield f"does: has {len(text.does)} labels, the persona {len(persona.does)}"
    if bool(text.disclaimer) != bool(persona.disclaimer):
        yield "disclaimer: must be there exactly when the persona has one"
    if [line["role"] for line in text.demo or []] != [line["role"] for line in persona.demo or []]:
        yield "demo: must have the persona's speakers in the same order"


def _spread(columns: Any) -> Any:
    """Expand `does` and `demo` into their columns."""
    if not isinstance(columns, dict):
        return columns
    columns = dict(columns)
    if isinstance(does := columns.get("does"), dict):
        columns |= {"does": list(does), "does_examples": _trimmed(does)}
    if isinstance(demo := columns.get("demo"), list):
        lines = [line for line in demo if isinstance(line, dict) and len(line) == 1]
        if len(lines) == len(demo):
            columns["demo"] = [{"role": role, "text": _trimmed(text)} for line in lines for role, text in line.items()]
    return columns


def _row(model: type[CatalogRow], columns: Any, where: str, problems: list[str], **ours: Any) -> CatalogRow | None:
    """One unsaved row. None if it is invalid; the problems are then added to `problems`."""
    if not isinstance(columns, dict):
        problems.append(f"{where}: must be an object")
        return None
    found = [f"{where}: {name}: is not a column" for name in columns if not _may_give(model, name) or name in ours]
    if found:
        problems += found
        return None
    row = model(**_trimmed(columns), **ours)
    if isinstance(row, LlmModel):
        row.provider = str(row.id).partition(":")[0]
    try:
        row.full_clean(exclude={"persona", "owner"}, validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        problems += _described(error, where)
        return None
    return row


def _may_give(model: type[CatalogRow], name: Any) -> bool:
    allowed = name not in NOT_IN_FILES or (name == "status" and model is Engine)
    try:
        return allowed and bool(model._meta.get_field(str(name)).concrete)  # noqa: SLF001 # Django's public API
    except FieldDoesNotExist:
        return False


def _described(error: ValidationError, where: str) -> Iterator[str]:
    for column, messages in error.message_dict.items():
        place = where if column == NON_FIELD_ERRORS else f"{where}: {column}"
        yield from (f"{place}: {message}" for message in messages)


def _trimmed(value: Any) -> Any:
    """The same value, with all texts trimmed: block texts in YAML always have blank space around them."""
    match value:
        case str():
            return value.strip()
        case list():
            return [_trimmed(inner) for inner in value]
        case dict():
            return {key: _trimmed(inner) for key, inner in value.items()}
    return value


def _parsed(path: Path, shape: type, problems: list[str]) -> Any:
    try:
        given = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506  # a safe loader
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        problems.append(f"{path.name}: {error}")
        return None
    if not isinstance(given, shape):
        problems.append(f"{path.name}: must be a {'list' if shape is list else 'mapping'}")
        return None
    return given


def _order_personas(contents: Contents) -> None:
    """Sort by category, then id, so that a new file does not move personas of other categories."""
    rows = [row for row in contents.rows[Persona] if isinstance(row, Persona)]
    rows.sort(key=lambda persona: (Category.values.index(persona.category), persona.id))
    for position, persona in enumerate(rows):
        persona.position = position
    contents.rows[Persona] = list(rows)


def _check_references(contents: Contents) -> None:
    known = references.Known(
        tiers=contents.ids(Tier),
        llm_providers=contents.ids(LlmProvider),
        llm_models=contents.ids(LlmModel),
        toolsets=contents.ids(Toolset),
    )
    for model, rows in contents.rows.items():
        for row in rows:
            for column, problem in references.unknown(row, known).items():
                contents.problems.append(f"{model.noun()} {row.pk}: {column}: {problem}")
