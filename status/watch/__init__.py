"""Looks at the platform every half minute, stores what is down, and opens and closes incidents by that."""
