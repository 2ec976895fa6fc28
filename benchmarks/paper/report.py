"""placeholder while the run goes"""

NAME = "REPORT.md"


def write(folder, found):
    pass
