"""/account/personas: what a person writes for the catalog."""
