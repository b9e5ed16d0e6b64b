"""flashdoctor: proves whether flash attention really runs, and says why not."""

__version__ = "0.1.0"
