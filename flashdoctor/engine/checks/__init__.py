"""Judgements that need logic, one file each, named after their rule."""
