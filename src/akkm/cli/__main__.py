"""Run the command line as `python -m akkm.cli`."""

from akkm.cli import main

if __name__ == "__main__":
    main()
