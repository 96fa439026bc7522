"""Django finds the console's pages of this app here."""

from config.audit import admin as audit
from config.jobs import admin as jobs
from config.operator_settings import admin as operator_settings

__all__ = ["audit", "jobs", "operator_settings"]
