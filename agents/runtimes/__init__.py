"""Where pods run: one driver per kind of place, all behind `agents.runtimes.base.Runtime`."""
