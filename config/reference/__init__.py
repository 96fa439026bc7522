"""/docs: the OpenAPI document as pages, with examples for each operation. They need no script."""
