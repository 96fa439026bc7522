"""Agents in the admin console, the accounts that own them, their logs, and operators' steps that need a reason."""

from agents.admin import accounts, agents, logs

__all__ = ["accounts", "agents", "logs"]
