"""The timeline of what an agent did, as its pod's gateway has recorded it."""
