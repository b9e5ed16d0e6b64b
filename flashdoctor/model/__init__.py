"""Frozen data: facts, snapshots, rules, findings, reports. Pure; imports nothing but errors."""
