"""Find, check and load the matrices."""
