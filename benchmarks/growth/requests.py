"""What people ask for while the platform grows: an agent, the agents of an account, and the console's first page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from django.conf import settings
from django.test import Client
from django.utils import timezone

from accounts import keys
from accounts.models import User
from agents.models import Agent
from benchmarks import load, measuring, processes
from status.overview import facts

READS, VISITS = 300, 30


def prepared(stack: ExitStack, runtime: str) -> dict[str, Callable[[], float]]:
    """Start web, which ends with the stack. Each request by its name: a call measures its CPU in milliseconds."""
    agent = Agent.objects.filter(status="running", slug__startswith="agent-").order_by("-created_at", "pk")[1:2].get()
    bearer = f"Bearer {keys.create(agent.user, name='growth', now=timezone.now())[1]}"
    facts.measure(now=timezone.now())
    server = stack.enter_context(processes.web(AGENT_RUNTIME=runtime))
    asked = {
        "GET /agents/{id}": (load.get(f"/agents/{agent.pk}", Authorization=bearer), READS),
        "GET /agents, an account with four": (load.get("/agents", Authorization=bearer), READS),
        "the console's overview": (load.get("/admin/", Cookie=_operator()), VISITS),
    }
    return {name: partial(_measured, server, request, times) for name, (request, times) in asked.items()}


def _measured(server: processes.Program, request: bytes, times: int) -> float:
    return measuring.cost(server, load.repeat(request, times), status=200).total / 1000


def _operator() -> str:
    client = Client()
    client.force_login(User.objects.create_superuser("growth@example.com"))
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
