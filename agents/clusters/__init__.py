"""Clusters that pods may run on: the operator's rows, which agent is where, and what is seen of its pod."""
