"""How fast the product is. Each figure stands beside a baseline that was measured in the same run: `make bench`."""
