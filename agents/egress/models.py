"""The rules of an agent's egress broker, and which hosts its engine asked for. Rules are elsewhere."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from agents.clusters.models import Pod
from config.crypto import EncryptedJson


class Egress(models.Model):
    """The egress rules of one agent. An agent without such a row does not use the broker."""

    agent = models.OneToOneField("agents.Agent", on_delete=models.CASCADE, primary_key=True, related_name="egress")
    is_limited = models.BooleanField(
        default=False, db_default=False, help_text="Whether the engine may ask the hosts of the list alone."
    )
    hosts = models.JSONField(default=list, db_default=[], help_text="The list: names, also as *.example.com.")
    secrets = EncryptedJson(
        default=list, help_text="Each with name, hosts, header, prefix, value and set_at; encrypted as one text."
    )
    is_walled = models.BooleanField(
        default=False, db_default=False, help_text="Whether the pod has told that its engine is walled in."
    )
    book = models.CharField(max_length=40, blank=True, default="", db_default="", help_text="Of the gateway's log.")
    number = models.PositiveIntegerField(default=0, db_default=0, help_text="Of the last batch that was added.")

    class Meta:
        app_label = "agents"

    def __str__(self) -> str:
        return self.agent_id

    @property
    def is_used(self) -> bool:
        return self.is_limited or bool(self.secrets)

    @property
    def is_enforced(self) -> bool:
        """Whether nothing but the gateway is left to the engine. A wall (agents/pod/bridge/wall.py) leaves a few ports
        open, and only a cluster's network policy lets nothing out there. Both were seen: the pod has told of its wall,
        and the observer of the policy.
        """
        if not (self.is_limited and self.is_walled and settings.AGENT_RUNTIME == "kubernetes"):
            return False
        pod = Pod.objects.select_related("cluster").filter(pk=self.agent.namespace).first()
        return pod is not None and pod.is_kept_to_its_list


class EgressHost(models.Model):
    """How often the engine of one agent asked for one host on one day."""

    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="egress_hosts", db_index=False)
    day = models.DateField()
    host = models.CharField(max_length=260, help_text="Name and port, or * for those beyond the limit of a day.")
    is_refused = models.BooleanField(default=False)
    count = models.BigIntegerField(default=0)
    sent = models.BigIntegerField(default=0, help_text="Bytes from the engine.")
    received = models.BigIntegerField(default=0, help_text="Bytes from the host.")

    class Meta:
        app_label = "agents"
        indexes = [models.Index(fields=["day"], name="egress_host_age")]
        constraints = [models.UniqueConstraint(fields=["agent", "day", "host", "is_refused"], name="egress_host_once")]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.day} {self.host}"
