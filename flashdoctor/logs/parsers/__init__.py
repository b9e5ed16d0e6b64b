"""One module for each tool whose output people paste; each has a `PARSER`."""
