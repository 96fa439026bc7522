"""/status/page and /status/feed.atom: the platform's health for people, in the languages of the other public pages."""
