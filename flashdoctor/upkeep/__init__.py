"""Keeping the tables true: what the package index says, held against their rows."""
