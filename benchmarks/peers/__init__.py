"""`make bench-peers`: ours and its peers, one after another on one machine, in one table."""
