"""/docs: the OpenAPI document as pages, with examples for each operation. The pages need no script."""
