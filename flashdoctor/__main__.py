"""`python -m flashdoctor`."""

import sys

from flashdoctor.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
