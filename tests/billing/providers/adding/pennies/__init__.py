"""Pennies: a seller that opens a bill for each order."""
