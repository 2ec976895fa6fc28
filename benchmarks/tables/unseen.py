"""Tables on which nothing was chosen: no rule, no constant and no share.

They are of the R packages Ecdat, carData, wooldridge (alcohol and happiness), medicaldata, MLDataR and mediation, as
CSV in github.com/vincentarelbundock/Rdatasets. If anything is chosen by them, they move to `known.KNOWN`.
"""

from __future__ import annotations

from benchmarks.tables.data import Known, Number

CONTACTS: dict[str, Number | None] = {
    "mdu": Number(0, 80, whole=True),
    "lc": Number(0, 5),
    "lpi": Number(0, 8),
    "fmde": Number(0, 9),
    "ndisease": Number(0, 60),
    "linc": Number(0, 11),
    "lfam": Number(0, 3),
    "educdec": Number(0, 25, whole=True),
    "age": Number(0, 65),
    **dict.fromkeys(("idp", "physlim", "health", "sex", "child", "black")),
}
WORDS: dict[str, Number | None] = {
    "year": Number(1978, 2016, whole=True),
    **dict.fromkeys(("gender", "nativeBorn", "ageGroup", "educGroup")),
    "vocab": Number(0, 10, whole=True),
    "age": Number(18, 89, whole=True),
    "educ": Number(0, 20, whole=True),
}
DRINKERS: dict[str, Number | None] = {
    **dict.fromkeys(("abuse", "status", "married", "white", "exhealth", "northeast", "centcity", "mothalc", "fathalc")),
    "unemrate": Number(2, 12),
    "age": Number(25, 59, whole=True),
    "educ": Number(0, 20, whole=True),
    "famsize": Number(1, 15, whole=True),
    "beertax": Number(0, 2.5),
    "cigtax": Number(0, 40),
    "ethanol": Number(1, 4.5),
}
TESTS: dict[str, Number | None] = {
    **dict.fromkeys(("gender", "result", "demo_group", "drive_thru_ind", "orderset", "payor_group", "patient_class")),
    "pan_day": Number(1, 110, whole=True),
    "age": Number(0, 140),
    "ct_result": Number(10, 45),
    "col_rec_tat": Number(0, 100_000, log=True),
    "rec_ver_tat": Number(0, 250, log=True),
}
MOODS: dict[str, Number | None] = {
    **dict.fromkeys(("year", "workstat", "reg16", "income", "region", "attend", "happy", "owngun", "black", "female")),
    "prestige": Number(10, 90, whole=True),
    "educ": Number(0, 20, whole=True),
    "babies": Number(0, 8, whole=True),
    "preteen": Number(0, 8, whole=True),
    "teens": Number(0, 8, whole=True),
    "tvhours": Number(0, 24, whole=True),
}
STROKES: dict[str, Number | None] = {
    **dict.fromkeys(("stroke", "gender", "hypertension", "heart_disease", "work_related_stress", "urban_residence")),
    "smokes": None,
    "age": Number(0, 100),
    "avg_glucose_level": Number(50, 300),
    "bmi": Number(10, 100),
}
PUPILS: dict[str, Number | None] = {
    **dict.fromkeys(("fight", "attachment", "work", "coed", "gender", "pared", "catholic")),
    "score": Number(0, 100, whole=True),
    "late": Number(1, 5, whole=True),
    "smorale": Number(1, 5, whole=True),
    "income": Number(1, 16, whole=True),
    "free": Number(1, 7, whole=True),
}
UNSEEN: Known = {
    "DoctorContacts": (CONTACTS, "health"),
    "GSSvocab_years": (WORDS, "gender"),
    "alcohol": (DRINKERS, "abuse"),
    "covid_testing": (TESTS, "result"),
    "happiness": (MOODS, "happy"),
    "stroke_classification": (STROKES, "stroke"),
    "student": (PUPILS, "work"),
}
FILES = {"GSSvocab_years": "GSSvocab"}
"""Where a file has another name: `fresh` reads the same with years as words, and another target."""
