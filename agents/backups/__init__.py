"""Backups of agents' data: restic repositories, one per agent, written through an append-only endpoint of ours."""
