"""``python -m bankgcn``, the same as the command ``bankgcn``."""

from bankgcn.cli import main

if __name__ == "__main__":
    main()
