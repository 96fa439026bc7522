"""Each state machine has one table of its transitions, and one function that assigns its column."""

from __future__ import annotations

import ast

import pytest
from django.apps import apps
from django.db.models import Field

from config import states
from config.states import IllegalTransition
from tests.config.state_machines import (
    ALSO,
    FREE,
    MACHINES,
    NO_STATE,
    OWNED,
    PACKAGES,
    ROOT,
    Machine,
    assigned,
    assigned_in,
)

WRITTEN = {
    "row.stage = Stage.DONE": "an attribute",
    "row.note, row.stage = '', Stage.DONE": "one of two attributes",
    "rows.update(stage=Stage.DONE)": "an update",
    "Row.objects.create(stage=Stage.DONE)": "a new row",
    "row.save(update_fields=['note', 'stage'])": "a save of columns",
    "Row.objects.bulk_update(rows, ['stage'])": "a bulk update",
    "setattr(row, 'stage', 'done')": "an attribute by its name",
    "values = {'stage': Stage.DONE}": "the values of an update",
    "cursor.execute('UPDATE a_row r SET note = %s, stage = 1 WHERE id = %s')": "SQL",
    "cursor.execute(f'UPDATE a_row SET stage = {one} FROM other')": "SQL with values",
}
READ = ("row.stage == Stage.DONE", "rows.filter(stage=Stage.DONE)", "told = {'stage': row.stage}", "move(stage=DONE)")


@pytest.mark.parametrize("code", WRITTEN, ids=WRITTEN.values())
def test_every_way_to_assign_a_column_is_seen(code: str) -> None:
    assert set(assigned_in(f"def rule():\n    {code}", {"stage"}, name="a.py")) == {("stage", "a.py rule")}


@pytest.mark.parametrize("code", READ)
def test_a_column_that_is_only_read_is_not_assigned(code: str) -> None:
    assert not set(assigned_in(code, {"stage"}, name="a.py"))


def test_only_its_one_function_assigns_the_column_of_a_machine() -> None:
    allowed = {(machine.column, machine.writer) for machine in MACHINES} | ALSO.keys()
    assert assigned({machine.column for machine in MACHINES}) == allowed


def test_only_its_owner_assigns_what_billing_and_the_life_cycle_own_of_an_agent() -> None:
    assert assigned(OWNED.keys()) == {(column, place) for column, places in OWNED.items() for place in places}


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_that_function_asks_the_table(machine: Machine) -> None:
    file, _, function = machine.writer.partition(" ")
    (found,) = (
        node
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.FunctionDef) and node.name == function
    )
    assert "TRANSITIONS" in {node.id for node in ast.walk(found) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_every_state_can_be_reached(machine: Machine) -> None:
    field = machine.model._meta.get_field(machine.column)
    assert isinstance(field, Field)
    reached: set[str] = set()
    left: set[str] = set(machine.begins or (field.get_default(),))
    while left:
        state = left.pop()
        reached.add(state)
        left |= machine.transitions[state] - reached
    words = {word for word, _ in field.choices or ()} | ({""} if field.blank else set())
    assert reached == words == set(machine.transitions)


def test_every_state_of_a_model_belongs_to_a_machine_or_needs_none() -> None:
    known = {str(machine) for machine in MACHINES} | FREE.keys()
    states_of_models = {
        f"{model.__name__}.{field.name}"
        for model in apps.get_models()
        if model.__module__.split(".")[0] in PACKAGES and not model._meta.proxy
        for field in model._meta.local_fields
        if (field.choices and field.name not in NO_STATE) or field.name in {"status", "state", "stage", "phase"}
    }
    assert states_of_models == known


def test_a_transition_that_the_table_lacks_is_a_defect() -> None:
    table = {"new": {"old"}, "old": set[str]()}
    states.check(table, "new", "old", of="row")
    with pytest.raises(IllegalTransition, match="row: old to new"):
        states.check(table, "old", "new", of="row")
    assert states.before(table, "old") == ["new"]
