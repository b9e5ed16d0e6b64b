"""`python -m flashdoctor`."""

from flashdoctor.cli.main import console

if __name__ == "__main__":
    console()
