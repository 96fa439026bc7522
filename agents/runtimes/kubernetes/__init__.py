"""Runs each pod as a Deployment in its own namespace, on one or many clusters."""
