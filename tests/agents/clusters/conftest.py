"""Rows of clusters, and an API server that answers from a script."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from agents.models import Cluster


@pytest.fixture
def cluster(db: None) -> Cluster:
    return make_cluster("one")


def make_cluster(name: str, **given: Any) -> Cluster:
    return Cluster.objects.create(name=name, **{"routing": "none", "observed_at": timezone.now(), **given})
