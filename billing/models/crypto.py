"""Deposit addresses, orders in stablecoins that are paid there, and all deposits that were seen."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import Q

from agents.models import Agent
from billing.models.orders import Order
from billing.models.payments import UNIT_DIGITS
from billing.vocabulary import Asset


class DepositAddress(models.Model):
    """The address for one agent's money, on any EVM chain and in either coin. It is never given to another agent."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="deposit_addresses")
    account = models.CharField(max_length=16, help_text="A fingerprint of the xpub from which the address was derived.")
    hd_index = models.PositiveIntegerField()
    address = models.CharField(max_length=42, unique=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "deposit addresses"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["account", "hd_index"], name="deposit_address_index"),
            models.UniqueConstraint(fields=["agent", "account"], name="deposit_address_agent"),
        ]

    def __str__(self) -> str:
        return self.address


class CryptoOrder(Order):
    """An order for an amount of one token (docs/spec.md: CryptoOrder). Amounts are in the token's smallest unit."""

    asset = models.CharField(max_length=4, choices=Asset.choices)
    chain_id = models.BigIntegerField()
    token = models.CharField(max_length=42)
    decimals = models.PositiveSmallIntegerField()
    deposit_address = models.ForeignKey(DepositAddress, on_delete=models.PROTECT, related_name="orders")
    amount = models.DecimalField(max_digits=UNIT_DIGITS, decimal_places=0)
    baseline = models.DecimalField(max_digits=UNIT_DIGITS, decimal_places=0)
    baseline_block = models.BigIntegerField(help_text="The baseline counts money that came in this block or earlier.")
    baseline_hash = models.CharField(max_length=66, blank=True)
    baseline_final = models.BooleanField(
        default=False, help_text="Whether the baseline was read again when it was final."
    )
    seen = models.DecimalField(
        max_digits=UNIT_DIGITS, decimal_places=0, default=0, help_text="Received so far, final or not."
    )
    seen_block = models.BigIntegerField(null=True, blank=True, help_text="The block at which this sum was first seen.")
    credited = models.DecimalField(max_digits=UNIT_DIGITS, decimal_places=0, default=0)
    paid_block = models.BigIntegerField(
        null=True, blank=True, help_text="The block at which the order was found to be paid."
    )
    late = models.BooleanField(default=False)
    tx_hash = models.CharField(max_length=66, null=True, blank=True)
    recheck_at = models.DateTimeField(
        null=True, blank=True, help_text="When the chain is read again, to check that the payment is still there."
    )
    dropped_at = models.DateTimeField(
        null=True, blank=True, help_text="When the payment was found to be gone from the chain."
    )

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["recheck_at"], name="crypto_order_recheck", condition=Q(recheck_at__isnull=False)),
            models.Index(OpClass("tx_hash", "varchar_pattern_ops"), name="crypto_order_hash"),
            models.Index(fields=["dropped_at"], name="crypto_order_dropped", condition=Q(dropped_at__isnull=False)),
            models.Index(
                fields=["paid_block"], name="crypto_order_no_hash", condition=Q(tx_hash=None, paid_block__isnull=False)
            ),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="crypto_order_amount"),
            models.CheckConstraint(condition=Q(baseline__gte=0), name="crypto_order_baseline"),
        ]


class Deposit(models.Model):
    """One transfer to one of our addresses, in a final block. Deposits that bought nothing stay here for operators."""

    chain_id = models.BigIntegerField()
    tx_hash = models.CharField(max_length=66)
    log_index = models.PositiveIntegerField()
    block = models.BigIntegerField()
    block_hash = models.CharField(max_length=66)
    deposit_address = models.ForeignKey(DepositAddress, on_delete=models.PROTECT, related_name="deposits")
    asset = models.CharField(max_length=4, choices=Asset.choices)
    token = models.CharField(max_length=42)
    sender = models.CharField(max_length=42)
    amount = models.DecimalField(max_digits=UNIT_DIGITS, decimal_places=0)
    order = models.ForeignKey(CryptoOrder, on_delete=models.PROTECT, null=True, blank=True, related_name="deposits")
    unapplied = models.CharField(
        max_length=200, blank=True, help_text="Why it bought nothing. An operator decides what to do."
    )
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ("-block", "-log_index")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["deposit_address", "asset", "block"], name="deposit_of"),
            models.Index(fields=["seen_at"], name="deposit_open", condition=Q(order=None, unapplied="")),
            models.Index(fields=["-seen_at"], name="deposit_unapplied", condition=~Q(unapplied="")),
            models.Index(fields=["-seen_at", "-id"], name="deposit_newest"),
            models.Index(OpClass("tx_hash", "varchar_pattern_ops"), name="deposit_hash"),
            models.Index(OpClass("sender", "varchar_pattern_ops"), name="deposit_sender"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["chain_id", "tx_hash", "log_index"], name="deposit_once"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="deposit_amount"),
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.asset}, {self.tx_hash}"


class HighWater(models.Model):
    """The highest balance ever seen at an address, less what was swept. A node that is behind cannot lower it."""

    deposit_address = models.ForeignKey(DepositAddress, on_delete=models.PROTECT, related_name="high_waters")
    chain_id = models.BigIntegerField()
    asset = models.CharField(max_length=4, choices=Asset.choices)
    balance = models.DecimalField(max_digits=UNIT_DIGITS, decimal_places=0)
    block = models.BigIntegerField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["deposit_address", "chain_id", "asset"], name="high_water_of"),
        ]

    def __str__(self) -> str:
        return f"{self.balance} {self.asset} at {self.deposit_address_id}"


class Sweep(models.Model):
    """Money that the operator moved away from a deposit address: one transfer in a final block, read from the chain."""

    deposit_address = models.ForeignKey(DepositAddress, on_delete=models.PROTECT, related_name="sweeps")
    chain_id = models.BigIntegerField()
    tx_hash = models.CharField(max_length=66, db_default="")
    log_index = models.PositiveIntegerField(db_default=0)
    block = models.BigIntegerField(db_default=0)
    asset = models.CharField(max_length=4, choices=Asset.choices)
    token = models.CharField(max_length=42, db_default="", help_text="Empty in rows from an earlier release.")
    amount = models.DecimalField(max_digits=UNIT_DIGITS, decimal_places=0)
    actor = models.CharField(max_length=80)
    reason = models.CharField(max_length=500, db_default="")
    at = models.DateTimeField()

    class Meta:
        ordering = ("-at", "-id")
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["chain_id", "tx_hash", "log_index"], condition=~Q(tx_hash=""), name="sweep_once"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="sweep_amount"),
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.asset}, {self.tx_hash}"


class Misplaced(models.Model):
    """Money at a deposit address that cannot pay: another token, a chain's own coin, or anything on another chain.

    Operators can send it back with their wallet, which has the keys. Once it is gone, the amount is 0.
    """

    deposit_address = models.ForeignKey(DepositAddress, on_delete=models.PROTECT, related_name="misplaced")
    chain_id = models.BigIntegerField()
    token = models.CharField(max_length=42, blank=True, help_text="The token's address. Empty: the chain's own coin.")
    symbol = models.CharField(max_length=20)
    amount = models.DecimalField(max_digits=UNIT_DIGITS, decimal_places=0)
    block = models.BigIntegerField(help_text="The block at which the amount was last read.")
    seen_at = models.DateTimeField(help_text="When the money was first seen.")
    read_at = models.DateTimeField()

    class Meta:
        ordering = ("-seen_at", "-id")
        verbose_name = verbose_name_plural = "misplaced money"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["-seen_at"], name="misplaced_there", condition=Q(amount__gt=0)),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["deposit_address", "chain_id", "token"], name="misplaced_of"),
            models.CheckConstraint(condition=Q(amount__gte=0), name="misplaced_amount"),
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.symbol} on chain {self.chain_id}"


class ChainState(models.Model):
    """How far a chain was read. `fault` says why orders are refused on it."""

    chain_id = models.BigIntegerField(primary_key=True)
    head = models.BigIntegerField(default=0, help_text="The newest block that any node reported.")
    head_at = models.DateTimeField()
    pending_to = models.BigIntegerField(help_text="Deposits to addresses of pending orders were read up to this block.")
    all_to = models.BigIntegerField(help_text="Deposits to all addresses were read up to this block.")
    read_at = models.DateTimeField(help_text="When pending orders were last checked.")
    fault = models.CharField(max_length=300, blank=True)
    asked_at = models.DateTimeField(null=True, blank=True, help_text="When an operator last asked for a check.")

    def __str__(self) -> str:
        return f"chain {self.chain_id}"
