"""The web server: an event loop reads each request completely, then a thread runs Django."""
