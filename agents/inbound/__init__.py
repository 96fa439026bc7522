"""Messages that a service sends to us instead of to the engine. They are kept until the engine has taken them."""
