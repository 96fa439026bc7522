"""Brings each agent to the state that its owner, an operator or billing wants: the life cycle and the reconciler."""
