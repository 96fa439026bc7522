"""Clusters, who is placed where, and the last that was seen of each pod. Rules are elsewhere."""

from __future__ import annotations

import json
from typing import Any

import yaml
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.utils import timezone

from agents.runtimes.base import Phase
from agents.runtimes.kubernetes.place import Routing
from config.crypto import EncryptedText

NAME = RegexValidator(r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$", "Lower-case letters, digits and dashes.")
_OWN_NAMESPACE = RegexValidator(r"^$|^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", "The name of a namespace.")
_GATEWAY = RegexValidator(r"^$|^[a-z0-9-]+/[a-z0-9-]+(/[a-z0-9-]+)?$", "namespace/name, or namespace/name/listener.")


class PullPolicy(models.TextChoices):
    IF_NOT_PRESENT = "IfNotPresent"
    ALWAYS = "Always"
    NEVER = "Never"


class Enforcement(models.TextChoices):
    """Whether the cluster's network keeps network policies; the API server takes them either way."""

    UNKNOWN = "unknown"
    ENFORCED = "enforced"
    IGNORED = "ignored"


class Cluster(models.Model):
    """One Kubernetes cluster that pods are placed on."""

    name = models.CharField(max_length=40, unique=True, validators=[NAME])
    region = models.CharField(max_length=40, blank=True)
    capacity = models.PositiveIntegerField(
        default=100, validators=[MinValueValidator(0)], help_text="How many agents may be placed here."
    )
    cordoned = models.BooleanField(default=False, help_text="No new agent is placed here; those that are stay.")
    kubeconfig = EncryptedText(
        null=True, blank=True, help_text="Empty: the cluster that Agentpods itself runs in, by its service accounts."
    )

    routing = models.CharField(
        max_length=8, choices=[(way, way) for way in Routing], default=Routing.GATEWAY, help_text="How visitors come."
    )
    gateway = models.CharField(
        max_length=200, blank=True, validators=[_GATEWAY], help_text="namespace/name of the shared Gateway."
    )
    ingress_class = models.CharField(max_length=60, blank=True)
    router_namespace = models.CharField(
        max_length=63, blank=True, validators=[_OWN_NAMESPACE], help_text="Whose pods bring visitors."
    )
    control_namespace = models.CharField(
        max_length=63,
        blank=True,
        validators=[_OWN_NAMESPACE],
        help_text="Where Agentpods itself runs, if it does here.",
    )
    control_cidrs = ArrayField(
        models.CharField(max_length=43), default=list, blank=True, help_text="From where Agentpods comes otherwise."
    )
    certificate_issuer = models.CharField(
        max_length=60, blank=True, help_text="cert-manager's ClusterIssuer for customers' own hostnames."
    )

    storage_class = models.CharField(max_length=60, blank=True, help_text="Empty: the cluster's default.")
    runtime_class = models.CharField(max_length=60, blank=True, help_text="For example gvisor or kata.")
    node_selector = models.JSONField(default=dict, blank=True)
    tolerations = models.JSONField(default=list, blank=True)
    pull_policy = models.CharField(max_length=12, choices=PullPolicy.choices, default=PullPolicy.IF_NOT_PRESENT)
    pull_secret = EncryptedText(null=True, blank=True, help_text="A Docker configuration (JSON) for private images.")
    stats_through_api = models.BooleanField(
        default=False, help_text="Ask nodes by way of the API server. Needs nodes/proxy, which is more than reading."
    )

    # The observer's. Only agents/clusters/ writes these.
    observer = models.CharField(max_length=40, blank=True, help_text="Which observer holds the lease.")
    observer_until = models.DateTimeField(null=True, blank=True)
    observed_at = models.DateTimeField(null=True, blank=True, help_text="When its watches last had a sign of life.")
    network_policies = models.CharField(
        max_length=8, choices=Enforcement.choices, default=Enforcement.UNKNOWN, help_text="As the last check found."
    )
    findings = models.JSONField(default=list, blank=True, help_text="What the last check found wrong.")
    checked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """What neither field nor database says: that JSON and YAML are of the right shape, and routing is complete."""
        _check_kubeconfig(self.kubeconfig)
        _check_pull_secret(self.pull_secret)
        if not _is_map_of_text(self.node_selector):
            raise ValidationError({"node_selector": "An object of text values."})
        if not isinstance(self.tolerations, list) or not all(isinstance(one, dict) for one in self.tolerations):
            raise ValidationError({"tolerations": "A list of tolerations."})
        if self.routing == Routing.GATEWAY and not self.gateway:
            raise ValidationError({"gateway": "Needed with routing by Gateway API."})


def _check_kubeconfig(text: str | None) -> None:
    """Programs that a kubeconfig would start are refused: they would run in every worker."""
    if not text:
        return
    try:
        body = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValidationError({"kubeconfig": "Not YAML."}) from error
    if not isinstance(body, dict) or not body.get("clusters") or not body.get("users"):
        raise ValidationError({"kubeconfig": "Needs clusters, users and contexts."})
    users = [one.get("user") or {} for one in body["users"] if isinstance(one, dict)]
    if any("exec" in user or "auth-provider" in user for user in users):
        raise ValidationError({"kubeconfig": "Give a token or a certificate, not a program that fetches one."})


def _check_pull_secret(text: str | None) -> None:
    if not text:
        return
    try:
        body = json.loads(text)
    except ValueError as error:
        raise ValidationError({"pull_secret": "Not JSON."}) from error
    if not isinstance(body, dict) or not isinstance(body.get("auths"), dict):
        raise ValidationError({"pull_secret": 'A Docker configuration: {"auths": {…}}.'})


def _is_map_of_text(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


class Placement(models.Model):
    """Which cluster an agent is on, for all its pods: its volume cannot leave."""

    agent_id = models.CharField(primary_key=True, max_length=40)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="placements")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.agent_id} on {self.cluster}"


class Pod(models.Model):
    """The last that was seen of one pod; its namespace is in `cluster`. Written by the observer and the driver."""

    namespace = models.CharField(primary_key=True, max_length=63)
    agent_id = models.CharField(max_length=40)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="pods")
    public_url = models.CharField(max_length=300, null=True, blank=True, help_text="Null: the pod's own address.")
    made_at = models.DateTimeField(default=timezone.now)

    phase = models.CharField(max_length=12, choices=[(phase, phase) for phase in Phase], default=Phase.STARTING)
    gateway_alive = models.BooleanField(default=False)
    revision = models.PositiveIntegerField(null=True, blank=True)
    restarts = models.PositiveIntegerField(default=0)
    cause = models.CharField(max_length=20, null=True, blank=True)
    message = models.TextField(null=True, blank=True)
    evidence = models.JSONField(default=list, blank=True)
    since = models.DateTimeField(null=True, blank=True)
    pod_ip = models.GenericIPAddressField(null=True, blank=True)
    disk_bytes = models.BigIntegerField(
        null=True, blank=True, help_text="As last measured; a stopped pod has no other."
    )

    class Meta:
        indexes = [models.Index(fields=["cluster", "namespace"], name="pod_cluster")]

    def __str__(self) -> str:
        return f"{self.namespace}: {self.phase}"
