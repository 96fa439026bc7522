"""The console's page about one agent or one person: repairs as buttons, and the newest rows of the lists about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from config.admin_steps import Step, WithSteps, address

NOTHING_TO_SAVE = {"show_save": False, "show_save_and_continue": False}  # on a page whose fields are only shown
ROWS = 10  # of each section; the whole list is behind a link


class Cell(NamedTuple):
    text: str
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
    name: str  # of its anchor
    title: str
    head: tuple[str, ...] = ()
    rows: list[list[Cell]] = field(default_factory=list)
    links: tuple[Cell, ...] = ()
    sentence: str = ""
    drawing: str = ""  # an SVG, made of numbers
    part: str = ""  # the address of a part that the page's script loads after the page


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairButton:
    """A step that helps this agent or person, as a button of its page."""

    step: Step[Any]
    model: type[Model]  # whose console has the step
    about: str
    why_not: Callable[[Any], str]  # why it does nothing now, in words; "" if it would do something
    row_id: Callable[[Any], str] = lambda row: str(row.pk)
    label: str = ""  # if it is not the label of the step's own button


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownButton:
    name: str
    label: str
    about: str
    address: str
    why_not: str


SectionMaker = Callable[[Any, HttpRequest], PageSection | None]


def table(name: str, title: str, head: tuple[str, ...], rows: Iterable[Iterable[Any]], **more: Any) -> PageSection:
    """A section with a table. Its cells are texts, or texts with a link."""
    cells = [[one if isinstance(one, Cell) else Cell(str(one)) for one in row] for row in rows]
    return PageSection(name=name, title=title, head=head, rows=cells, **more)


def everything(model: str, **filters: str) -> str:
    """The address of the whole list, with these filters."""
    return f"{reverse(f'admin:{model}_changelist')}?{urlencode(filters)}"


def page_of(model: str, key: str) -> str:
    """The address of a row's page. The admin reads some pairs of digits in an id as other characters, unless quoted."""
    return reverse(f"admin:{model}_change", args=[quote(key)])


class WithSections(WithSteps):
    change_form_template = "admin/with_sections.html"
    # Apps above add what they know about the row. None: the person may not see the section.
    sections: ClassVar[list[SectionMaker]] = []
    repairs: ClassVar[list[RepairButton]] = []
    repairs_title = "Repairs"
    sections_first = False  # whether they are before the form

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        if obj is not None:
            made = (maker(obj, request) for maker in self.sections)
            context |= {"repairs_title": self.repairs_title, "sections_first": self.sections_first}
            context["sections"] = [section for section in made if section]
            context["repairs"] = [shown for one in self.repairs if (shown := _shown(one, obj, request))]
            context |= {} if context["adminform"].form.fields else NOTHING_TO_SAVE
        return super().render_change_form(request, context, add=add, change=change, form_url=form_url, obj=obj)


def _shown(repair: RepairButton, row: Any, request: HttpRequest) -> ShownButton | None:
    """The button; None if this person may not press it."""
    step, console = repair.step, admin.site.get_model_admin(repair.model)
    if not step.allowed(console, request):
        return None
    why_not = repair.why_not(row)
    place = "" if why_not else address(console, step, [repair.row_id(row)], back=request.path)
    label = repair.label or step.button
    return ShownButton(name=step.name, label=label, about=repair.about, address=place, why_not=why_not)
