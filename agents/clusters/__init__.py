"""Clusters that pods may run on: the operator's rows, the cluster of each agent, and what is seen of its pod."""
