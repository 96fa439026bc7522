"""What a pod's programs say: lines made harmless, and the ring in which the last of them are kept."""
