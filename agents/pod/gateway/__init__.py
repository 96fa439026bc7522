"""The pod's public face and the only holder of the model key: management, key proxy and public page in one process."""
