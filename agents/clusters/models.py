"""Clusters, the cluster of each agent, and what was last seen of each pod. Rules are elsewhere."""

from __future__ import annotations

import json
import ssl
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from agents.clusters.api import kubeconfig
from agents.clusters.api.place import Routing
from agents.runtimes.base import Phase
from catalog.vocabulary import TierId
from config.crypto import EncryptedText

NAME = RegexValidator(r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$", "Lower-case letters, digits and dashes.")
NOT_SYSTEM = RegexValidator(r"^(?!system-)[a-z0-9.-]*$", "A priority class of your own: not one of the system.")
_OWN_NAMESPACE = RegexValidator(r"^$|^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", "The name of a namespace.")
_GATEWAY = RegexValidator(r"^$|^[a-z0-9-]+/[a-z0-9-]+(/[a-z0-9-]+)?$", "namespace/name, or namespace/name/listener.")


# The ports on which ingress-nginx and Envoy Gateway take visitors. Ports on which controllers take orders are not among
# them: 8443 is ingress-nginx's admission webhook, 8080 may be Traefik's dashboard.
USUAL_ROUTER_PORTS = [80, 443, 10080, 10443]


def usual_router_ports() -> list[int]:
    return list(USUAL_ROUTER_PORTS)


def check_authority(text: str) -> None:
    try:
        ssl.create_default_context(cadata=text)
    except ssl.SSLError as error:
        raise ValidationError("Certificates as PEM.") from error


class PullPolicy(models.TextChoices):
    IF_NOT_PRESENT = "IfNotPresent"
    ALWAYS = "Always"
    NEVER = "Never"


class Enforcement(models.TextChoices):
    """Whether the cluster's network enforces network policies. The API server accepts them in any case."""

    UNKNOWN = "unknown"
    ENFORCED = "enforced"
    IGNORED = "ignored"


class Cluster(models.Model):
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
    router_ports = ArrayField(
        models.PositiveIntegerField(validators=[MinValueValidator(1), MaxValueValidator(65535)]),
        default=usual_router_ports,
        db_default=USUAL_ROUTER_PORTS,
        blank=True,
        size=20,
        help_text="On which these pods take visitors, and nothing else. Agents may reach them there, and so each"
        " other's public names, where the cluster leads its own public address straight to them.",
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
    own_cidrs = ArrayField(
        models.CharField(max_length=43),
        default=list,
        db_default=[],
        blank=True,
        help_text="This cluster's own networks: of nodes, pods, services and its API server. Pods never reach them."
        " Private networks are closed in any case; Check names public addresses that are missing here.",
    )
    visitors_authority = models.TextField(
        blank=True,
        default="",
        db_default="",
        validators=[check_authority],
        help_text="Who certifies the hostnames of agents (PEM), if that is no public authority.",
    )
    certificate_issuer = models.CharField(
        max_length=60, blank=True, help_text="cert-manager's ClusterIssuer for customers' own hostnames."
    )

    storage_class = models.CharField(max_length=60, blank=True, help_text="Empty: the cluster's default.")
    runtime_class = models.CharField(max_length=60, blank=True, help_text="For example gvisor or kata.")
    tier_runtime_classes = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text='For the pods of single plans, such as {"tiny": "gvisor"}; "" is the nodes\' own. Others: as above.',
    )
    node_selector = models.JSONField(default=dict, blank=True)
    tolerations = models.JSONField(default=list, blank=True)
    priority_class = models.CharField(
        max_length=63, blank=True, default="", db_default="", validators=[NOT_SYSTEM], help_text="Of agents' pods."
    )
    pod_annotations = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text='Of agents\' pods, such as {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}.',
    )
    dns_peers = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text='Whom pods ask for names, as peers of a network policy, such as [{"ipBlock": {"cidr":'
        ' "169.254.20.10/32"}}] for NodeLocal DNS. Empty: the pods with the label k8s-app=kube-dns.',
    )
    dns_port = models.PositiveIntegerField(
        default=53,
        db_default=53,
        validators=[MinValueValidator(1), MaxValueValidator(65535)],
        help_text="OpenShift: 5353.",
    )
    pull_policy = models.CharField(max_length=12, choices=PullPolicy.choices, default=PullPolicy.IF_NOT_PRESENT)
    pull_secret = EncryptedText(null=True, blank=True, help_text="A Docker configuration (JSON) for private images.")
    stats_through_api = models.BooleanField(
        default=False, help_text="Ask nodes by way of the API server. Needs nodes/proxy, which is more than reading."
    )

    # The observer's fields. Only agents/clusters/ writes these.
    observer = models.CharField(max_length=40, blank=True, help_text="Which observer holds the lease.")
    observer_until = models.DateTimeField(null=True, blank=True)
    observed_at = models.DateTimeField(null=True, blank=True, help_text="When its watches last had a sign of life.")
    network_policies = models.CharField(
        max_length=8, choices=Enforcement.choices, default=Enforcement.UNKNOWN, help_text="As the last check found."
    )
    findings = models.JSONField(default=list, blank=True, help_text="What the last check found wrong.")
    checked_at = models.DateTimeField(null=True, blank=True)
    # The driver's fields.
    breached_at = models.DateTimeField(
        null=True, blank=True, help_text="When an object that protects was last found gone or changed, and put back."
    )
    breach = models.TextField(blank=True, default="", db_default="", help_text="Which that was.")

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Check what neither the fields nor the database check: the shape of JSON and YAML, and that routing is
        complete."""
        if self.kubeconfig:
            self.kubeconfig = _checked_kubeconfig(self.kubeconfig)
        _check_pull_secret(self.pull_secret)
        if not _is_map_of_text(self.tier_runtime_classes) or set(self.tier_runtime_classes) - set(TierId.values):
            allowed = ", ".join(TierId.values)
            raise ValidationError({"tier_runtime_classes": f"An object of plans ({allowed}) and runtime classes."})
        if not _is_map_of_text(self.node_selector):
            raise ValidationError({"node_selector": "An object of text values."})
        if not _is_map_of_text(self.pod_annotations):
            raise ValidationError({"pod_annotations": "An object of text values."})
        if not isinstance(self.dns_peers, list) or not all(_is_peer(one) for one in self.dns_peers):
            raise ValidationError({"dns_peers": "A list of peers: namespaceSelector and podSelector, or ipBlock."})
        if not isinstance(self.tolerations, list) or not all(isinstance(one, dict) for one in self.tolerations):
            raise ValidationError({"tolerations": "A list of tolerations."})
        if self.routing == Routing.GATEWAY and not self.gateway:
            raise ValidationError({"gateway": "Needed with routing by Gateway API."})


def _checked_kubeconfig(text: str) -> str:
    """Only the used part of the kubeconfig: credentials of other clusters in the same file must not be stored."""
    try:
        return kubeconfig.read(text).as_text()
    except kubeconfig.BadKubeconfig as refusal:
        raise ValidationError({"kubeconfig": str(refusal)}) from refusal


def _check_pull_secret(text: str | None) -> None:
    if not text:
        return
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValidationError({"pull_secret": "Not JSON."}) from error
    if not isinstance(body, dict) or not isinstance(body.get("auths"), dict):
        raise ValidationError({"pull_secret": 'A Docker configuration: {"auths": {…}}.'})


def _is_peer(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and value.keys() <= {"namespaceSelector", "podSelector", "ipBlock"}


def _is_map_of_text(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


class MoveStage(models.TextChoices):
    """The stage of an agent's move to another cluster (agents/clusters/moving.py)."""

    ASKED = "asked"  # `other` is the target; agent and data are still on `cluster`
    BEGUN = "begun"  # `other` is the old cluster; it keeps the data until the pod is ready on `cluster`
    OVER = "over"  # `other` may still have something that is no longer needed


class Placement(models.Model):
    """The cluster of an agent, for all its pods: its volume cannot leave the cluster."""

    agent_id = models.CharField(primary_key=True, max_length=40)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="placements")
    created_at = models.DateTimeField(default=timezone.now)
    move = models.CharField(max_length=5, choices=MoveStage.choices, blank=True, default="", db_default="")
    other = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="moves", null=True, blank=True, db_index=False
    )

    class Meta:
        # Few agents move at the same time.
        indexes = [models.Index(fields=["other"], name="placement_other", condition=Q(other__isnull=False))]

    def __str__(self) -> str:
        return f"{self.agent_id} on {self.cluster}"


class Pod(models.Model):
    """What was last seen of one pod. Its namespace is in `cluster`. The observer and the driver write this row."""

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
    kept = models.JSONField(null=True, blank=True, help_text="Digests of its objects as the driver last applied them.")
    seen = models.JSONField(null=True, blank=True, help_text="The same as the observer sees them; null: not known.")
    secrets = models.JSONField(
        null=True, blank=True, help_text="Identities of its Secrets as the driver was told; null: not known."
    )
    secrets_seen = models.JSONField(null=True, blank=True, help_text="Those that are there; null: not known.")
    astray = models.JSONField(
        default=list, db_default=[], blank=True, help_text="What was found gone or changed and is not told yet."
    )
    deployed = models.CharField(
        max_length=40, null=True, blank=True, help_text="Hash of the workload that was last found there whole."
    )
    deployed_at = models.DateTimeField(null=True, blank=True, help_text="When that was.")
    bridge_bytes = models.BigIntegerField(
        null=True, blank=True, help_text="Memory of its bridge, as that told when it came up; null: not known."
    )
    disk_bytes = models.BigIntegerField(
        null=True, blank=True, help_text="As last measured; a stopped pod has no other."
    )

    logs_kept_at = models.DateTimeField(
        null=True, blank=True, help_text="When the end of its log was last fetched, for the time after the pod."
    )

    class Meta:
        indexes = [
            models.Index(fields=["cluster", "namespace"], name="pod_cluster"),
            # For finding the pods whose log is to be kept next (agents/clusters/pods.py).
            models.Index(F("logs_kept_at").asc(nulls_first=True), name="pod_logs", condition=Q(gateway_alive=True)),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}: {self.phase}"
