"""Django finds the console's pages of this app here."""

from config.operator_settings import admin

__all__ = ["admin"]
