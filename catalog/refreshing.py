"""Keeps the models current: applies a list of models to the catalog.

Three parties decide whether a model is offered. Each has its own column, so that none undoes another's decision:
operators (`hidden`), the data files (`gone`) and the refresh (`outdated`). Nothing is deleted: agents keep their
models.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time

from django.db import connection, transaction
from django.db.models import Max

from catalog import digests, models_in_use, version
from catalog.cost import cost_tier
from catalog.listing import ListedModel, ListedModels, Skipped
from catalog.loading import ADVISORY_LOCK
from catalog.models import LlmModel, LlmProvider
from catalog.models.rows import LAST
from catalog.vocabulary import CostTier, ProviderId

NEWEST = 2
LAST_DAY, DAYS = date(2200, 1, 1), 100_000  # positions for the models of one provider: one per day of release
WRITTEN = [*LlmModel.PRICES, "refreshed_at", "outdated", "gone", "loaded"]


class NothingToRefresh(Exception):  # short, as the rules say it
    def __init__(self) -> None:
        super().__init__("the catalog has none of the list's providers: run load_catalog first")


@dataclass(slots=True)
class Diff:
    """What a refresh changes. Each entry is a line that begins with the model's id."""

    added: list[str] = field(default_factory=list)
    repriced: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    untouched: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    malformed: list[str] = field(default_factory=list)
    unchanged: int = 0

    def summary(self) -> str:
        """The counts as one line of text."""
        names = ("added", "repriced", "returned", "hidden", "kept")
        return ", ".join([*(f"{len(getattr(self, name))} {name}" for name in names), f"{self.unchanged} unchanged"])


@transaction.atomic
def refresh(listing: ListedModels, *, source: str, now: datetime, newest: int = NEWEST, write: bool = False) -> Diff:
    """Offer the newest models of each provider and cost class at today's prices; hide other models that are not in use.

    Changes the database only with `write`. Providers without usable entries in the list are left as they are. Raises
    NothingToRefresh.
    """
    if write:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ADVISORY_LOCK])
    providers = [
        provider for provider in LlmProvider.objects.values_list("id", flat=True) if provider in listing.models
    ]
    if not providers:
        raise NothingToRefresh
    rows = LlmModel.objects.order_by("id")
    run = _Refresh(listing, rows.select_for_update() if write else rows, source=source, now=now, newest=newest)
    for provider in sorted(providers, key=ProviderId.values.index):
        run.provider(provider)
    run.note_untouched()
    if write:
        run.write()
    return run.diff


def prices_checked_at() -> datetime | None:
    """When the prices were last checked, by a refresh or else by the authors of the data files."""
    last = LlmModel.objects.aggregate(refreshed=Max("refreshed_at"), checked=Max("checked_at"))
    refreshed: datetime | None = last["refreshed"]
    if refreshed or not last["checked"]:
        return refreshed
    return datetime.combine(last["checked"], time(), UTC)


class _Refresh:
    """One refresh: the rows as they should be, and the differences from the rows as they are."""

    def __init__(
        self, listing: ListedModels, rows: Iterable[LlmModel], *, source: str, now: datetime, newest: int
    ) -> None:
        self.listing = listing
        self.source = source
        self.now = now
        self.newest = newest
        self.users = models_in_use.in_use()
        self.rows = list(rows)
        self.present: list[LlmModel] = []
        self.new: list[LlmModel] = []
        self.diff = Diff(malformed=list(listing.problems))

    def provider(self, provider: str) -> None:
        listed = self.listing.models[provider]
        rows = {row.name: row for row in self.rows if row.provider == provider}
        hidden = {name for name, row in rows.items() if row.hidden}
        chosen = chosen_of([model for name, model in listed.items() if name not in hidden], newest=self.newest)
        for name in sorted(chosen - rows.keys()):
            self._add(provider, listed[name])
        for name, row in rows.items():
            self._judge(row, listed.get(name), wanted=name in chosen)
        self._count_skipped(provider, other=len(listed.keys() - rows.keys() - chosen), hidden=len(hidden))

    def note_untouched(self) -> None:
        """Note the providers whose rows stay as they are because the list has nothing about them."""
        ours = {row.provider for row in self.rows}
        self.diff.untouched = [provider for provider in self.listing.absent if provider in ours]

    def write(self) -> None:
        """Write without `save`, which would change the catalog's version once per row."""
        LlmModel.objects.bulk_update(self.present, WRITTEN)
        LlmModel.objects.bulk_create(self.new)
        version.bump()

    def _add(self, provider: str, model: ListedModel) -> None:
        row = LlmModel(id=f"{provider}:{model.name}", provider=provider, label=model.label, refreshed_at=self.now)
        row.position = place(provider, model.released)
        self._set_prices(row, model)
        self.new.append(row)
        self.diff.added.append(f"{row.id} ({row.label}): {_prices(row)}")

    def _judge(self, row: LlmModel, model: ListedModel | None, *, wanted: bool) -> None:
        if self.listing.skipped[row.provider].get(row.name) is Skipped.MALFORMED:
            self.diff.kept.append(f"{row.id}: malformed in the list, so nothing is known of it")
            return
        repriced = model is not None and self._reprice(row, model)
        told = not row.hidden and (self._offer(row) if wanted else self._drop(row))
        self.diff.unchanged += not (repriced or told)
        self.present.append(row)

    def _reprice(self, row: LlmModel, model: ListedModel) -> bool:
        before = _prices(row)
        if not made_here(row):
            row.refreshed_at = self.now
        self._set_prices(row, model)
        if _prices(row) == before:
            return False
        self.diff.repriced.append(f"{row.id}: {before} -> {_prices(row)}")
        return True

    def _set_prices(self, row: LlmModel, model: ListedModel) -> None:
        """Set the prices and their digests, so that a later load does not take them for an edit."""
        row.input_usd, row.output_usd = model.input_usd, model.output_usd
        row.source, row.checked_at = self.source, self.now.date()
        if row.loaded:
            digest = digests.of(row)
            row.loaded = {**row.loaded, **{column: digest[column] for column in LlmModel.PRICES}}

    def _offer(self, row: LlmModel, because: str = "") -> bool:
        """Offer the model.

        Return whether it was not offered before. A model that the data files dropped now belongs to the refresh.
        """
        if row.offered:
            return False
        if row.gone:
            row.gone, row.loaded, row.refreshed_at = False, {}, self.now
        row.outdated = False
        self.diff.returned.append(f"{row.id} ({row.label}): {because or _prices(row)}")
        return True

    def _drop(self, row: LlmModel) -> bool:
        """Hide the model unless it is used. Return whether there is something to report."""
        users = self._users(row)
        if users and row.outdated:
            return self._offer(row, because=users)
        if not row.offered:
            return False
        if users:
            self.diff.kept.append(f"{row.id}: {self._why(row)}; {users}")
        else:
            row.outdated = True
            self.diff.hidden.append(f"{row.id}: {self._why(row)}")
        return True

    def _users(self, row: LlmModel) -> str:
        users = self.users.get(row.id, [])
        said = [f"in use by {', '.join(users)}"] if users else []
        said += ["pinned"] if row.pinned else []
        return ", ".join(said + (["made here"] if made_here(row) else []))

    def _why(self, row: LlmModel) -> str:
        if row.name in self.listing.models[row.provider]:
            return f"older than the newest {self.newest} {row.cost_tier}"
        skipped = self.listing.skipped[row.provider].get(row.name)
        return skipped.value if skipped else "no longer listed"

    def _count_skipped(self, provider: str, *, other: int, hidden: int) -> None:
        self.diff.skipped.update(skipped.value for skipped in self.listing.skipped[provider].values())
        self.diff.skipped.update({f"older than the newest {self.newest} of their class": other} if other else {})
        self.diff.skipped.update({"hidden by an operator": hidden} if hidden else {})


def chosen_of(models: Iterable[ListedModel], *, newest: int) -> set[str]:
    """The names of the newest models of each cost class. Free models, whose use vendors limit, come after paid ones."""
    by_class: dict[CostTier, list[ListedModel]] = defaultdict(list)
    for model in models:
        by_class[cost_tier(model.input_usd, model.output_usd)].append(model)
    return {model.name for group in by_class.values() for model in sorted(group, key=_rank)[:newest]}


def _rank(model: ListedModel) -> tuple[bool, int, int, str]:
    """The sort key. Of models of a day the shortest name is first: it is the vendor's alias, not a dated copy."""
    free = not (model.input_usd or model.output_usd)
    return free, -model.released.toordinal(), len(model.name), model.name


def made_here(row: LlmModel) -> bool:
    """Whether an operator created the row, and not the data files or a refresh."""
    return not row.loaded and row.refreshed_at is None


def place(provider: str, released: date) -> int:
    """The position of a model: after those of the data files, by provider, the newest first."""
    age = max(0, min((LAST_DAY - released).days, DAYS - 1))
    return LAST + ProviderId.values.index(provider) * DAYS + age


def _prices(row: LlmModel) -> str:
    return f"{row.input_usd.normalize():f} / {row.output_usd.normalize():f} {row.cost_tier}"
