"""``python -m scumble`` is ``scumble``."""

import sys

from scumble.cli import main

if __name__ == "__main__":
    sys.exit(main())
