"""Views of a table after the noise: what is measured, the model that agrees with all of it, answers with errors.

Everything here is post-processing: functions of numbers that are public already. No noise is drawn and no record seen.
"""
