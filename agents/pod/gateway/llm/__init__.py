"""The key proxy: the engine calls it with a random token, and it calls the provider with the real key."""
