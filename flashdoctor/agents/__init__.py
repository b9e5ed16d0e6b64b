"""Scripts that run in another interpreter: read as text, never imported."""
