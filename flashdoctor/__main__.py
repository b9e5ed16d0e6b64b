"""`python -m flashdoctor`, and what the console script starts."""

import gc

# A short life needs few collections of garbage. Set before the imports, which make most of it.
gc.set_threshold(100_000)

from flashdoctor.cli.main import console  # noqa: E402 - as said above

if __name__ == "__main__":
    console()
