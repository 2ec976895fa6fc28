"""How fast scumble is, relative to the machine's limit and to its alternatives: ``make bench``."""
