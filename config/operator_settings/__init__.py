"""The settings that operators change while the service runs, in the admin's *Settings*.

`operator_settings.MAX_KEYS` is the value that an operator chose; else the environment variable of this name, read once
at the start; else the default. A change holds everywhere within five seconds (values.py).
"""

from config.operator_settings.registry import operator_settings

__all__ = ["operator_settings"]
