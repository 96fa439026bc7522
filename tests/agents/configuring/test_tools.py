"""Which toolsets an engine can have: the rule, for an engine with toolsets."""

from __future__ import annotations

import pytest

from agents.configuring import tools
from config.errors import BadRequest

pytestmark = pytest.mark.usefixtures("catalog")


def test_the_toolset_a2a_is_given_once() -> None:
    with pytest.raises(BadRequest, match="'a2a' is given twice"):
        tools.check(["a2a", "a2a"], [], secrets={}, engine_id="hermes", prefix="tools.")
