"""Claims, releases, takeovers and deletions at the same moment: in any order, each name has one holder."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import User
from agents.domains import claims
from agents.domains.records import DnsAnswers
from agents.errors import DomainTaken, NoSuchAgent
from agents.models import Agent, DomainClaim
from agents.router.addresses import find
from agents.running import lifecycle
from tests.agents.conftest import MakeAgent

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "bot.example.org"
NOTHING = DnsAnswers(addresses=(), texts=frozenset())


def proof_of(*agents: Agent) -> DnsAnswers:
    return DnsAnswers(addresses=(), texts=frozenset(claims.value_of(agent.user_id) for agent in agents))


def at_once(*doings: Callable[[], object]) -> Counter[str]:
    """Run each function in a thread of its own. Returns how many were done, and how many had which refusal."""
    outcomes: Counter[str] = Counter()
    barrier = threading.Barrier(len(doings))

    def run(do: Callable[[], object]) -> None:
        barrier.wait()
        try:
            do()
            outcomes["done"] += 1
        except (DomainTaken, NoSuchAgent) as refusal:
            outcomes[type(refusal).__name__] += 1
        except Exception as error:  # noqa: BLE001  # the assertion shows it
            outcomes[repr(error)] += 1
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(do,)) for do in doings]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return outcomes


def claim(agent: Agent, seen: DnsAnswers) -> Callable[[], object]:
    return lambda: claims.claim(agent, NAME, seen=seen, actor="user:x")


def one_truth() -> None:
    """Checks that the agents, the claims and the router agree about who has which name."""
    held = dict(DomainClaim.objects.held().values_list("agent_id", "domain"))
    said = dict(Agent.objects.live().filter(domain__isnull=False).values_list("id", "domain"))
    assert said == held
    assert len(set(held.values())) == len(held)
    served = find(NAME)
    holder = DomainClaim.objects.serving(timezone.now()).filter(domain=NAME).first()
    assert (served.agent_id if served else None) == (holder.agent_id if holder else None)


@pytest.fixture
def others(catalog: None) -> list[User]:
    return [User.objects.create_user(f"u{number}@example.com") for number in range(6)]


def test_of_many_claims_at_once_one_has_the_name(make_agent: MakeAgent, others: list[User]) -> None:
    agents = [make_agent(user=user) for user in others]
    outcomes = at_once(*(claim(agent, NOTHING) for agent in agents))
    assert outcomes == {"done": 1, "DomainTaken": 5}
    one_truth()


def test_of_many_proofs_at_once_the_last_one_has_the_name(make_agent: MakeAgent, others: list[User]) -> None:
    """DNS may carry the values of several accounts. Each of them takes the name over in turn."""
    agents = [make_agent(user=user) for user in others]
    outcomes = at_once(*(claim(agent, proof_of(*agents)) for agent in agents))
    assert set(outcomes) <= {"done", "DomainTaken"}
    assert outcomes["done"] >= 1
    assert find(NAME) is not None
    one_truth()


def test_a_takeover_races_a_release_a_deletion_and_a_look(
    make_agent: MakeAgent, others: list[User], owner: User
) -> None:
    for _ in range(6):
        first, second = make_agent(user=others[0]), make_agent(user=others[1])
        held = claims.claim(first, NAME, seen=proof_of(first), actor="user:x")
        outcomes = at_once(
            claim(second, proof_of(second)),
            lambda first=first: claims.release(first, actor="user:x"),  # type: ignore[misc]  # this `first`
            lambda first=first: lifecycle.delete(first, actor="user:x"),  # type: ignore[misc]
            lambda held=held: claims.observe(held.pk, proof_of(), now=timezone.now()),  # type: ignore[misc]
        )
        assert set(outcomes) <= {"done", "NoSuchAgent"}
        one_truth()
        assert find(NAME) is not None
        for agent in (first, second):
            lifecycle.delete(agent, actor="user:x")
        one_truth()
        assert find(NAME) is None


def test_an_agent_that_is_deleted_while_it_claims_keeps_nothing(make_agent: MakeAgent, others: list[User]) -> None:
    for _ in range(6):
        agent = make_agent(user=others[0])
        outcomes = at_once(claim(agent, proof_of(agent)), lambda agent=agent: lifecycle.delete(agent, actor="user:x"))  # type: ignore[misc]
        assert set(outcomes) <= {"done", "NoSuchAgent"}
        assert not DomainClaim.objects.held().exists()
        one_truth()


def test_two_agents_that_take_each_others_names_do_not_wait_for_ever(make_agent: MakeAgent, others: list[User]) -> None:
    for round_ in range(4):
        first, second = make_agent(user=others[0]), make_agent(user=others[1])
        both = proof_of(first, second)
        names = (f"a{round_}.example.org", f"b{round_}.example.org")
        claims.claim(first, names[0], seen=both, actor="user:x")
        claims.claim(second, names[1], seen=both, actor="user:x")
        outcomes = at_once(
            lambda first=first, both=both, name=names[1]: claims.claim(first, name, seen=both, actor="user:x"),  # type: ignore[misc]
            lambda second=second, both=both, name=names[0]: claims.claim(second, name, seen=both, actor="user:x"),  # type: ignore[misc]
        )
        assert set(outcomes) <= {"done", "DomainTaken"}
        one_truth()
        for agent in (first, second):
            lifecycle.delete(agent, actor="user:x")
