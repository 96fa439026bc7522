"""Messages that a service brings to us instead of to the engine: kept until the engine has taken them."""
