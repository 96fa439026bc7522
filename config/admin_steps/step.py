"""A step: which rows it changes, what its page says about them, and the rule that changes them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from django import forms
from django.contrib.admin import ModelAdmin
from django.contrib.admin.models import CHANGE, DELETION
from django.core.exceptions import ValidationError
from django.db.models import Model, ProtectedError, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from config.errors import Conflict

REASON_LENGTH = 500
BLANK_LETTERS = "\u115f\u1160\u3164\uffa0"  # letters of Hangul that look like a space
UNSEEN = {"Cc", "Cf"}  # Unicode categories of control and format characters

Row = TypeVar("Row", bound=Model)
Logged = list[tuple[Model, str]]


def in_words(text: str) -> None:
    """Raise ValidationError unless the reason has a visible letter or digit."""
    if not any(character.isalnum() and character not in BLANK_LETTERS for character in text):
        raise ValidationError("Write a reason in words: this has no letter and no digit.")


class OneLine(forms.CharField):
    """One line of text: line ends and double spaces become one space, invisible characters are removed."""

    def to_python(self, value: Any) -> str:
        spaced = " ".join(str(super().to_python(value)).split())
        return " ".join("".join(filter(_is_shown, spaced)).split())


class ReasonForm(forms.Form):
    reason = OneLine(
        max_length=REASON_LENGTH,
        validators=[in_words],
        widget=forms.TextInput(attrs={"size": 80}),
        help_text="The reason is stored with your name. The owner does not see it.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The operator who does the step, the time, and the form's values.

    `once` is the page's id: the same each time it is sent.
    """

    user: Any
    now: datetime
    once: str
    request: HttpRequest | None = None  # None in a job, which has no page
    fields: dict[str, Any] = field(default_factory=dict)
    answers: list[HttpResponse] = field(default_factory=list)  # where the step leads, if not back
    said: list[str] = field(default_factory=list)

    @property
    def actor(self) -> str:
        return f"operator:{self.user.pk}"

    def say(self, sentence: str) -> None:
        """Tell the operator a sentence after the step."""
        self.said.append(sentence)

    @property
    def reason(self) -> str:
        return str(self.fields.get("reason", ""))


class Step(Generic[Row]):
    """An action of operators on rows of one model."""

    name: ClassVar[str]  # name of the action; part of the page's address
    title: ClassVar[str]
    button: ClassVar[str]
    done: ClassVar[str]  # what the page says about the rows afterwards
    model: type[Model]
    related: ClassVar[tuple[str, ...]] = ()  # read together with the rows
    deferred: ClassVar[tuple[str, ...]] = ()  # columns that are not read
    parameter: ClassVar[str] = "id"  # in the page's address: the name of the parameter with the ids
    after: ClassVar[str] = ""  # the list to return to, if it is not the admin's own list
    warnings: ClassVar[tuple[str, ...]] = ()
    permission: ClassVar[str] = "change"  # checked by the admin's has_…_permission, as for Django's own actions
    material: ClassVar[tuple[str, ...]] = ()  # columns: a row in which one has changed meanwhile is left alone
    counted: ClassVar[bool] = False  # cannot be undone: for more than one row, the operator types how many there are
    alone: ClassVar[bool] = False  # only one row at a time
    bulk: ClassVar[bool] = False  # more than a page's rows become a job (config/jobs); needs `in_transaction`
    pace: ClassVar[int] = 600  # rows of a job in a minute, unless its operator chooses otherwise
    in_transaction: ClassVar[bool] = True  # False for a rule that makes its own transactions or uses the network
    flag: ClassVar[int] = CHANGE  # kind of the entry in the admin's history
    form: ClassVar[type[forms.Form]] = ReasonForm
    template: ClassVar[str] = "admin/step.html"

    def allowed(self, console: ModelAdmin[Any], request: HttpRequest) -> bool:
        return bool(getattr(console, f"has_{self.permission}_permission")(request))

    def among(self, chosen: QuerySet[Any]) -> QuerySet[Any]:
        """The chosen rows that the step would change."""
        return chosen

    def rows(self, ids: list[str]) -> list[Row]:
        """The rows with these ids that the step would change, in the order of the ids."""
        known = {str(row.pk): row for row in self.among(self._all().filter(pk__in=self._possible(ids)))}
        return [known[one] for one in ids if one in known]

    def held(self, row_id: str) -> Row | None:
        """The row as it is now, even if the step would not change it.

        If the rule of a step is not safe when run twice at a time, the step locks the row here.
        """
        return self._all().filter(pk__in=self._possible([row_id])).first()

    def shown(self, row: Row) -> dict[str, str]:
        """What the page shows of the row, by the name of the column. No values that change by themselves."""
        raise NotImplementedError

    def cells(self, rows: list[Row]) -> list[dict[str, str]]:
        """`shown` of many rows. A step overrides it to ask the database once for all of them."""
        return [self.shown(row) for row in rows]

    def means(self, rows: list[Row]) -> list[str]:
        """Sentences about these rows that fit no column."""
        return []

    def form_of(self, sent: Any, rows: list[Row]) -> forms.Form:
        return self.form(sent)

    def more(self, rows: list[Row], *, reason: str) -> dict[str, Any]:
        """Further values for the step's own template."""
        return {}

    def now(self) -> datetime:
        """The time that the rule gets. Raises ServiceError if this process may not decide now."""
        return timezone.now()

    def take(self, row: Row, *, given: Given) -> Logged | None:
        """Change the row. Return the entries for the admin's history; None means one entry: the row with the reason."""
        raise NotImplementedError

    def _all(self) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.model._default_manager.defer(*self.deferred)  # noqa: SLF001  # as Django's admin does
        return rows.select_related(*self.related) if self.related else rows

    def _possible(self, ids: list[str]) -> list[str]:
        """The ids without those that no row of this model can have."""
        return [one for one in ids if _is_id(self.model, one)]


class DeleteRows(Step[Any]):
    """Deletes rows.

    The admin deletes rows only through this step, which asks for a reason and keeps it in the history.
    """

    name, button, done = "delete_rows", "Delete for good", "Deleted"
    permission = "delete"
    warnings: ClassVar[tuple[str, ...]] = ("This cannot be undone.",)
    counted = True
    flag = DELETION

    def take(self, row: Any, *, given: Given) -> Logged | None:
        try:
            self._all().get(pk=row.pk).delete()  # delete a copy: the history needs the row's id
        except ProtectedError as error:
            raise StillNeeded(error) from error
        return None


class StillNeeded(Conflict):
    def __init__(self, error: ProtectedError) -> None:
        kinds = sorted({type(needs).__name__ for needs in error.protected_objects})
        super().__init__(f"not deleted: {', '.join(kinds)} still refer to it")


class NameOrPerish(ReasonForm):
    """Also asks for the row's name."""

    name = forms.CharField(max_length=80, label="Name, to confirm")

    def __init__(self, *args: Any, expected: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._expected = expected

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if name != self._expected:
            raise ValidationError(f"The name is {self._expected}.")
        return name


def _is_shown(character: str) -> bool:
    """Whether the character is visible. NUL passes here, because Django refuses it later."""
    return character == "\0" or unicodedata.category(character) not in UNSEEN


def _is_id(model: type[Model], given: str) -> bool:
    try:
        model._meta.pk.to_python(given)  # noqa: SLF001  # Django's documented way to a model's key
    except ValidationError:
        return False
    return given.isprintable()
