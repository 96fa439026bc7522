"""The bridge: the program in the engine's container. It writes the engine's files, starts and restarts the engine, and
talks to it.
"""
