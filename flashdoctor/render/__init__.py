"""One renderer a file over the same report."""
