"""The console's first page: what operators look at each morning."""
