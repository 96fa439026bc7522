"""One cluster's API server: the client, our rights there, and what the driver and the observer both know of our objects."""
