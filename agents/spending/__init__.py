"""What agents' model calls take and cost, and the limits that owners set."""
