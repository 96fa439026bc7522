"""JSON of the API's answers: as DRF writes it, by a quicker library."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.utils.translation import gettext_lazy
from rest_framework.renderers import JSONRenderer

from config.json_answers import QuickJsonRenderer

MOMENT = datetime(2026, 11, 28, 5, 30, 0, 120, tzinfo=UTC)


@pytest.mark.parametrize(
    "body",
    [
        {"text": 'Ünï 🙂 " \\ / \u2028\u2029\u007f\x00\n', "none": None, "list": [True, False, [], {}]},
        {"moment": MOMENT, "whole second": MOMENT.replace(microsecond=0), "price": Decimal("1.10")},
        {"words": gettext_lazy("not found"), 5: "a number as a name"},
        {"number": 2**64, "negative": -(2**70), "float": 0.1, "whole": 3.0},
        {},
        None,
    ],
)
def test_bytes_are_those_of_the_framework(body: Any) -> None:
    assert QuickJsonRenderer().render(body) == JSONRenderer().render(body)


def test_a_very_small_number_is_the_same_number() -> None:
    assert json.loads(QuickJsonRenderer().render({"share": 1e-07})) == {"share": 1e-07}
