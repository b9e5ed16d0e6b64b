"""Pasted text: read, matched against signatures, turned into facts. Pure."""
