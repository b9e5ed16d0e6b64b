"""Choose the Python to examine and run an agent in it."""
