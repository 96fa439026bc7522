"""Pods as Deployments in a namespace each, on one or many clusters."""
