"""What the platform promises to keep (docs/reference/slos.md), and how it is measured."""
