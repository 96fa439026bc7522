"""The key proxy: the engine calls it with a random token, the provider is called with the real key."""
