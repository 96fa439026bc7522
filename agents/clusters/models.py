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

from agents.clusters.api import kubeconfig, names
from agents.clusters.api.place import Routing
from agents.runtimes.base import Phase
from catalog.vocabulary import TierId
from config.crypto import EncryptedText

POLICY = f"NetworkPolicy/{names.POD}"  # its key among digests
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
        default=100, validators=[MinValueValidator(0)], help_text="The largest number of agents on this cluster."
    )
    cordoned = models.BooleanField(
        default=False, help_text="No new agent is placed on this cluster. Agents that are on it stay."
    )
    kubeconfig = EncryptedText(
        null=True,
        blank=True,
        help_text="Empty: the cluster in which Agentpods itself runs, with the service accounts of Agentpods.",
    )

    routing = models.CharField(
        max_length=8,
        choices=[(way, way) for way in Routing],
        default=Routing.GATEWAY,
        help_text="How visitors reach the pods.",
    )
    gateway = models.CharField(
        max_length=200, blank=True, validators=[_GATEWAY], help_text="namespace/name of the shared Gateway."
    )
    ingress_class = models.CharField(max_length=60, blank=True)
    router_namespace = models.CharField(
        max_length=63,
        blank=True,
        validators=[_OWN_NAMESPACE],
        help_text="The namespace of the ingress or gateway pods, which pass visitors on.",
    )
    router_ports = ArrayField(
        models.PositiveIntegerField(validators=[MinValueValidator(1), MaxValueValidator(65535)]),
        default=usual_router_ports,
        db_default=USUAL_ROUTER_PORTS,
        blank=True,
        size=20,
        help_text="Ports on which these pods accept visitors, and nothing else. Agents can connect to these ports. So"
        " they reach each other's public names if the cluster sends its own public address directly to these pods.",
    )
    control_namespace = models.CharField(
        max_length=63,
        blank=True,
        validators=[_OWN_NAMESPACE],
        help_text="The namespace of Agentpods itself, if it runs in this cluster.",
    )
    control_cidrs = ArrayField(
        models.CharField(max_length=43),
        default=list,
        blank=True,
        help_text="Networks from which Agentpods connects, if it runs elsewhere.",
    )
    own_cidrs = ArrayField(
        models.CharField(max_length=43),
        default=list,
        db_default=[],
        blank=True,
        help_text="This cluster's own networks: nodes, pods, services and API server. Pods cannot connect to them."
        " Private networks are always closed. The action Check lists public addresses that are missing here.",
    )
    visitors_authority = models.TextField(
        blank=True,
        default="",
        db_default="",
        validators=[check_authority],
        help_text="The certificate authority for the hostnames of agents (PEM), if it is not a public one.",
    )
    certificate_issuer = models.CharField(
        max_length=60, blank=True, help_text="The ClusterIssuer of cert-manager for customers' own hostnames."
    )

    storage_class = models.CharField(max_length=60, blank=True, help_text="Empty: the cluster's default.")
    runtime_class = models.CharField(max_length=60, blank=True, help_text="For example gvisor or kata.")
    tier_runtime_classes = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text='Runtime classes for some plans, such as {"tiny": "gvisor"}; "" means the default of the nodes. Pods'
        " of other plans use the class above.",
    )
    node_selector = models.JSONField(default=dict, blank=True)
    tolerations = models.JSONField(default=list, blank=True)
    priority_class = models.CharField(
        max_length=63,
        blank=True,
        default="",
        db_default="",
        validators=[NOT_SYSTEM],
        help_text="The priority class of agents' pods.",
    )
    pod_annotations = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text='Annotations of agents\' pods, such as {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}.',
    )
    dns_peers = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text='The DNS servers of pods, as peers of a network policy, such as [{"ipBlock": {"cidr":'
        ' "169.254.20.10/32"}}] for NodeLocal DNS. Empty: the pods with the label k8s-app=kube-dns.',
    )
    dns_port = models.PositiveIntegerField(
        default=53,
        db_default=53,
        validators=[MinValueValidator(1), MaxValueValidator(65535)],
        help_text="The port of these DNS servers. On OpenShift: 5353.",
    )
    pull_policy = models.CharField(max_length=12, choices=PullPolicy.choices, default=PullPolicy.IF_NOT_PRESENT)
    pull_secret = EncryptedText(null=True, blank=True, help_text="A Docker configuration (JSON) for private images.")
    stats_through_api = models.BooleanField(
        default=False,
        help_text="Measure nodes through the API server. Needs the right nodes/proxy, which allows more than reading.",
    )

    # The observer's fields. Only agents/clusters/ writes these.
    observer = models.CharField(max_length=40, blank=True, help_text="The observer that holds the lease.")
    observer_until = models.DateTimeField(null=True, blank=True)
    observed_at = models.DateTimeField(
        null=True, blank=True, help_text="When the API server last answered the observer."
    )
    network_policies = models.CharField(
        max_length=8, choices=Enforcement.choices, default=Enforcement.UNKNOWN, help_text="What the last check found."
    )
    findings = models.JSONField(default=list, blank=True, help_text="Problems that the last check found.")
    checked_at = models.DateTimeField(null=True, blank=True)
    # The driver's fields.
    breached_at = models.DateTimeField(
        null=True, blank=True, help_text="When a protecting object was last found missing or changed. It was restored."
    )
    breach = models.TextField(blank=True, default="", db_default="", help_text="The object that was restored.")

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
        for name in ("node_selector", "pod_annotations"):
            if not _is_map_of_text(getattr(self, name)):
                raise ValidationError({name: "An object of text values."})
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
    public_url = models.CharField(
        max_length=300, null=True, blank=True, help_text="Null: visitors use the pod's own address."
    )
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
    kept = models.JSONField(
        null=True, blank=True, help_text="Digests of the pod's objects, as the driver last applied them."
    )
    seen = models.JSONField(
        null=True, blank=True, help_text="Digests of the same objects, as the observer sees them. Null: unknown."
    )
    limiting = models.CharField(
        max_length=16,
        blank=True,
        default="",
        db_default="",
        help_text="Digest of the network policy that keeps the engine to its list of hosts, as the driver applied it."
        " Empty: the last policy was without a list.",
    )
    secrets = models.JSONField(
        null=True, blank=True, help_text="Identities of the pod's Secrets, as the driver received them. Null: unknown."
    )
    secrets_seen = models.JSONField(
        null=True, blank=True, help_text="Identities of the Secrets that exist now. Null: unknown."
    )
    astray = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Objects that were found missing or changed, and are not reported yet.",
    )
    deployed = models.CharField(
        max_length=40, null=True, blank=True, help_text="Hash of the workload that was last found complete."
    )
    deployed_at = models.DateTimeField(null=True, blank=True, help_text="When it was found complete.")
    bridge_bytes = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="Memory of the pod's bridge, as the bridge reported it at its start. Null: unknown.",
    )
    disk_bytes = models.BigIntegerField(
        null=True, blank=True, help_text="The last measured size. A stopped pod is not measured."
    )

    logs_kept_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the end of the pod's log was last copied, to keep it after the pod is gone.",
    )

    class Meta:
        indexes = [
            models.Index(fields=["cluster", "namespace"], name="pod_cluster"),
            # For finding the pods whose log is to be kept next (agents/clusters/pods.py).
            models.Index(F("logs_kept_at").asc(nulls_first=True), name="pod_logs", condition=Q(gateway_alive=True)),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}: {self.phase}"

    @property
    def is_kept_to_its_list(self) -> bool:
        """Whether the policy that keeps the engine to its list of hosts was applied, the observer sees it as it was
        applied, and the last check found that the cluster's network enforces policies.
        """
        is_there = self.limiting != "" and (self.seen or {}).get(POLICY) == self.limiting
        return is_there and self.cluster.network_policies == Enforcement.ENFORCED
