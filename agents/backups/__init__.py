"""Backups of agents' data: one restic repository per agent, written through our own append-only endpoint."""
