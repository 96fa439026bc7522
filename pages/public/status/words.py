"""The names of components and states on the status page: words of customers, not of operators."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from status.components import BACKUPS, DRILLS, MAIL, PRICES, Health
from status.models import IncidentStatus

BACKGROUND = "background"  # all periodic jobs together
COMPONENTS: dict[str, Promise] = {
    "runtime": _("Running agents"),
    "database": _("Database"),
    "cache": _("Cache"),
    "queue": _("Task queue"),
    MAIL: _("Mail"),
    PRICES: _("Model prices"),
    BACKUPS: _("Backups"),
    DRILLS: _("Restore tests"),
    BACKGROUND: _("Background work"),
}
STATES: dict[Health, Promise] = {
    Health.OK: _("Works"),
    Health.DEGRADED: _("Works, but not as it should"),
    Health.DOWN: _("Does not work"),
}
OVERALL: dict[Health, Promise] = {
    Health.OK: _("Everything works"),
    Health.DEGRADED: _("Some parts do not work as they should"),
    Health.DOWN: _("The service is down"),
}
STAGES: dict[str, Promise] = {
    IncidentStatus.INVESTIGATING: _("We are looking for the cause"),
    IncidentStatus.IDENTIFIED: _("We know the cause and are fixing it"),
    IncidentStatus.MONITORING: _("Fixed; we are watching it"),
    IncidentStatus.RESOLVED: _("Ended"),
}
