"""The log lines of a pod's programs: cleaning lines, and the ring in which the newest lines are kept."""
