"""`python -m exhume` is `exhume`."""

from exhume.cli.main import entry

if __name__ == "__main__":
    entry()
