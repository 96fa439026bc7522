"""Which changes are tried: operators of cosmic-ray, and three more for code that is mostly calls.

Of the operators that replace one sign by another, one or two replacements per sign are enough: others fail in the same
tests and would only make the figures look better. Multiplication is not in the list, because cosmic-ray takes the `*`
of a signature for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import parso
from cosmic_ray import plugins
from cosmic_ray.operators.operator import Example, Operator
from parso.tree import BaseNode, NodeOrLeaf

Position = tuple[tuple[int, int], tuple[int, int]]

CORE = [
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBinaryOperator_Div_Mul",
    "ReplaceBinaryOperator_Mod_Add",
    "ReplaceBinaryOperator_RShift_LShift",
    "ReplaceBinaryOperator_BitOr_BitAnd",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_Lt_GtE",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_LtE_Gt",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_Gt_LtE",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_GtE_Lt",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceUnaryOperator_USub_UAdd",
    "ReplaceUnaryOperator_Delete_Not",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ExceptionReplacer",
    "NumberReplacer",
    "RemoveDecorator",
    "ZeroIterationForLoop",
]


class RemoveStatement(Operator):  # type: ignore[misc] # cosmic-ray has no types
    """Leave out a call, a `raise`, or an assignment to an attribute, an element or with `+=`.

    Without an assignment to a plain name, the next line would fail in any test, so those stay.
    """

    def mutation_positions(self, node: NodeOrLeaf) -> Iterable[Position]:
        if _is_effect(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        return parso.parse(node.get_first_leaf().prefix + "pass")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return (
            Example("def g():\n    f(x)\n", "def g():\n    pass\n"),
            Example("def g():\n    x.y = 1\n", "def g():\n    pass\n"),
        )


class RemoveElement(Operator):  # type: ignore[misc]
    """Leave out one element of a tuple, list, set or dict."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterable[Position]:
        for first, last in _elements(node):
            yield first.start_pos, last.end_pos

    def mutate(self, node: BaseNode, index: int) -> BaseNode:
        first, last = list(_elements(node))[index]
        begin, end = node.children.index(first), node.children.index(last) + 1
        if end < len(node.children):
            end += 1  # the comma after the element
        elif begin:
            begin -= 1
        del node.children[begin:end]
        return node

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return Example("x = {1, 2}", "x = { 2}"), Example("x = (1, 2)", "x = (1)", occurrence=1)


class ReplaceArgumentWithNone(Operator):  # type: ignore[misc]
    """Give None for one named argument of a call."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterable[Position]:
        if node.type == "argument" and _is_named(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: BaseNode, index: int) -> BaseNode:
        node.children[2] = parso.parse("None")
        return node

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return (Example("f(x=1)", "f(x=None)"),)


def operators() -> list[Any]:
    core = [plugins.get_operator(f"core/{name}")() for name in CORE]
    return [*core, RemoveStatement(), RemoveElement(), ReplaceArgumentWithNone()]


def _is_effect(node: NodeOrLeaf) -> bool:
    if node.parent is None or node.parent.type != "simple_stmt" or not within(node, "funcdef"):
        return False
    if node.type == "expr_stmt":
        target, sign = node.children[0], node.children[1]
        return target.type == "atom_expr" or (sign.type == "operator" and sign.value not in {"=", ":"})
    return node.type in {"atom_expr", "raise_stmt"}


def _elements(node: NodeOrLeaf) -> Iterator[tuple[NodeOrLeaf, NodeOrLeaf]]:
    if node.type not in {"testlist_comp", "dictorsetmaker"}:
        return
    if any(child.type in {"comp_for", "sync_comp_for"} for child in node.children):
        return
    group: list[NodeOrLeaf] = []
    for child in node.children:
        if child.type == "operator" and child.value == ",":
            yield group[0], group[-1]
            group = []
        else:
            group.append(child)
    if group:
        yield group[0], group[-1]


def _is_named(node: BaseNode) -> bool:
    children = node.children
    return (
        len(children) == 3
        and children[1].type == "operator"
        and children[1].value == "="
        and children[2].get_code().strip() != "None"
    )


def within(node: NodeOrLeaf, types: str) -> bool:
    """Whether the node is inside of a node of one of these types."""
    above = node.parent
    while above is not None:
        if above.type in types.split():
            return True
        above = above.parent
    return False


def in_annotation(node: NodeOrLeaf) -> bool:
    """Whether the node is in a type annotation, which nothing evaluates."""
    while node.parent is not None:
        above = node.parent
        if above.type == "funcdef" and node is above.annotation:
            return True
        if (above.type, above.children.index(node)) in {("tfpdef", 2), ("annassign", 1)}:
            return True
        node = above
    return False
