"""Who money comes through: a driver each, and what all of them promise."""
