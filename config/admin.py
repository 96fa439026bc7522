"""Django finds the console's pages of this app here."""

from config.audit import admin as audit
from config.operator_settings import admin as operator_settings

__all__ = ["audit", "operator_settings"]
