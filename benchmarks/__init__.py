"""How fast the product is, each figure beside that of a baseline which was measured in the same run: `make bench`."""
