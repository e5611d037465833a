"""The command line, for `python -m tradewind`."""

from tradewind.cli import main

if __name__ == "__main__":
    main()
