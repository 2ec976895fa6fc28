"""How fast scumble is, beside the machine's limit and beside its alternatives: ``make bench``."""
