"""The console's pages about one's own sign-in. Each is a view function that gets the request; `urls` lists them."""
