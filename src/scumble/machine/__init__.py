"""What scumble needs of the machine under it: places on a disk, signals that interrupt, a compiler for loops."""
