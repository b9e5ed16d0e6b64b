"""Proof of the kernel that really ran: what to run, what came back, what it means."""
