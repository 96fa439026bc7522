"""What is measured and told of an agent: quota, usage, liveness, explanation, logs."""
