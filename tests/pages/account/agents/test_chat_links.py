"""The links on a pod's chat page lead to account pages that exist."""

from __future__ import annotations

import pytest
from django.urls import resolve

from agents.pod.gateway.pages import AGENT_PAGE, KEY_PAGE


@pytest.mark.parametrize("page", [AGENT_PAGE, KEY_PAGE])
def test_the_page_that_the_chat_names_is_a_page_of_that_agent(page: str) -> None:
    found = resolve(page.format("agt_0123456789abcdef01234567"))
    assert found.kwargs == {"id": "agt_0123456789abcdef01234567"}
