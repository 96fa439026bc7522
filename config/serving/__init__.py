"""How web serves: an event loop reads each request whole, and threads run Django."""
