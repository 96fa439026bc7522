"""One cluster's API server: the client, our rights there, and what driver and observer both know of our objects."""
