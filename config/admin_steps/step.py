"""A step: which rows it hits, what its page says of them, and the rule that does it."""

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
from django.http import HttpRequest
from django.utils import timezone

from config.errors import Conflict

REASON_LENGTH = 500
BLANK_LETTERS = "\u115f\u1160\u3164\uffa0"  # letters of Hangul that are shown as a gap
UNSEEN = {"Cc", "Cf"}  # of Unicode's categories: controls, and what formats the text around it

Row = TypeVar("Row", bound=Model)
Logged = list[tuple[Model, str]]


def in_words(text: str) -> None:
    """A reason can be read: it has a letter or a digit that is seen."""
    if not any(character.isalnum() and character not in BLANK_LETTERS for character in text):
        raise ValidationError("Say why in words: there is no letter and no digit in it.")


class OneLine(forms.CharField):
    """A sentence: line ends and double spaces become one space, and what is not seen is left out."""

    def to_python(self, value: Any) -> str:
        spaced = " ".join(str(super().to_python(value)).split())
        return " ".join("".join(filter(_is_shown, spaced)).split())


class ReasonForm(forms.Form):
    reason = OneLine(
        max_length=REASON_LENGTH,
        validators=[in_words],
        widget=forms.TextInput(attrs={"size": 80}),
        help_text="It is kept with your name. The owner does not read it.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Who does the step, when, and what they typed. `once` is the same word however often one page is sent."""

    user: Any
    now: datetime
    once: str
    fields: dict[str, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    @property
    def actor(self) -> str:
        return f"operator:{self.user.pk}"

    def say(self, sentence: str) -> None:
        """Something that the operator should know once it is done."""
        self.said.append(sentence)

    @property
    def reason(self) -> str:
        return str(self.fields.get("reason", ""))


class Step(Generic[Row]):
    """One thing that operators do with rows of one kind."""

    name: ClassVar[str]  # of the action; the page's address has it too
    title: ClassVar[str]
    button: ClassVar[str]
    done: ClassVar[str]  # what is said of the rows afterwards
    model: type[Model]
    parameter: ClassVar[str] = "id"  # of the page's address: the rows
    after: ClassVar[str] = ""  # the list to go back to, if it is not the admin's own
    warnings: ClassVar[tuple[str, ...]] = ()
    permission: ClassVar[str] = "change"  # the admin's has_…_permission, as with Django's own actions
    material: ClassVar[tuple[str, ...]] = ()  # of what is shown: if it has changed, the row is left alone
    counted: ClassVar[bool] = False  # cannot be taken back: for more than one row, their number is typed
    alone: ClassVar[bool] = False  # one row at a time
    in_transaction: ClassVar[bool] = True  # False for a rule that has transactions of its own, or asks the network
    flag: ClassVar[int] = CHANGE  # of the row in the admin's history
    form: ClassVar[type[forms.Form]] = ReasonForm
    template: ClassVar[str] = "admin/step.html"

    def allowed(self, console: ModelAdmin[Any], request: HttpRequest) -> bool:
        return bool(getattr(console, f"has_{self.permission}_permission")(request))

    def among(self, chosen: QuerySet[Any]) -> QuerySet[Any]:
        """Those of the chosen rows that the step would change."""
        return chosen

    def rows(self, ids: list[str]) -> list[Row]:
        """The rows of these ids that the step would change, in the order of the ids."""
        known = {str(row.pk): row for row in self.among(self._all().filter(pk__in=self._possible(ids)))}
        return [known[one] for one in ids if one in known]

    def held(self, row_id: str) -> Row | None:
        """The row as it is now, whether or not the step would change it.

        A step whose rule does not guard itself against two at a time locks the row here.
        """
        return self._all().filter(pk__in=self._possible([row_id])).first()

    def shown(self, row: Row) -> dict[str, str]:
        """What the page tells of the row, by name of the column. Nothing that changes by itself."""
        raise NotImplementedError

    def cells(self, rows: list[Row]) -> list[dict[str, str]]:
        """The same of many rows, for a step that must ask the database once for all of them."""
        return [self.shown(row) for row in rows]

    def means(self, rows: list[Row]) -> list[str]:
        """Sentences about these rows that a column cannot say."""
        return []

    def form_of(self, sent: Any, rows: list[Row]) -> forms.Form:
        return self.form(sent)

    def more(self, rows: list[Row], *, reason: str) -> dict[str, Any]:
        """What the step's own template needs besides."""
        return {}

    def now(self) -> datetime:
        """The time that the rule takes. Raises a ServiceError where this process may not decide."""
        return timezone.now()

    def take(self, row: Row, *, given: Given) -> Logged | None:
        """Do it. Returns what is to be in whose history, None for the row and its reason."""
        raise NotImplementedError

    def _all(self) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.model._default_manager.all()  # noqa: SLF001  # as Django's admin does
        return rows

    def _possible(self, ids: list[str]) -> list[str]:
        """Without what no row of this kind can have as its id."""
        return [one for one in ids if _is_id(self.model, one)]


class DeleteRows(Step[Any]):
    """The only way in which the admin deletes rows: it has a reason, which stays in the history."""

    name, button, done = "delete_rows", "Delete for good", "Deleted"
    permission = "delete"
    warnings: ClassVar[tuple[str, ...]] = ("This cannot be taken back.",)
    counted = True
    flag = DELETION

    def take(self, row: Any, *, given: Given) -> Logged | None:
        try:
            self._all().get(pk=row.pk).delete()  # a copy, for the history needs the row's id
        except ProtectedError as error:
            raise StillNeeded(error) from error
        return None


class StillNeeded(Conflict):
    def __init__(self, error: ProtectedError) -> None:
        kinds = sorted({type(needs).__name__ for needs in error.protected_objects})
        super().__init__(f"not deleted: {', '.join(kinds)} need it")


class NameOrPerish(ReasonForm):
    """Asks for the row's name as well."""

    name = forms.CharField(max_length=80, label="Its name, to be sure")

    def __init__(self, *args: Any, expected: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._expected = expected

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if name != self._expected:
            raise ValidationError(f"Its name is {self._expected}.")
        return name


def _is_shown(character: str) -> bool:
    """NUL passes, for Django refuses it."""
    return character == "\0" or unicodedata.category(character) not in UNSEEN


def _is_id(model: type[Model], given: str) -> bool:
    try:
        model._meta.pk.to_python(given)  # noqa: SLF001  # Django's documented way to a model's key
    except ValidationError:
        return False
    return given.isprintable()
