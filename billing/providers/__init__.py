"""Payment providers: one driver each, with a common interface."""
