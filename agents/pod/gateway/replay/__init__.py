"""Records what the agent does, turn by turn and call by call, for the timeline that its owner reads."""
