"""The program in the engine's container: renders its files, starts and restarts it, and speaks to it."""
