"""The tables of the comparison with others' programs, except Adult: no rule, constant or share was chosen on them.

Bounds and kinds are written by hand from what is said about a column where the table is published, never from its
cells; what lies outside is clipped.

- *cardio*: 70,000 medical examinations; whether the heart is ill (`cardio_train.csv` of the GitHub repository
  sarthakjain36/cardio_data; Kaggle's "Cardiovascular Disease dataset" with the names sbp and dbp). Age is in days.
- *GSSvocab* (carData): 28,867 answers to the General Social Survey, 1978 to 2016.
- *stackoverflow* (modeldata): 5,594 answers to the developers' survey of 2017.
- *rotterdam* (survival): 2,982 patients of a tumour bank, 1978 to 1993.

The last three as CSV in github.com/vincentarelbundock/Rdatasets.
"""

from __future__ import annotations

from benchmarks.tables.data import Known, Number

CARDIO: dict[str, Number | None] = {
    "age": Number(10_000, 25_000),
    "gender": None,
    "height": Number(120, 220, whole=True),
    "weight": Number(30, 200),
    "sbp": Number(60, 240),
    "dbp": Number(30, 160),
    **dict.fromkeys(("cholesterol", "gluc", "smoke", "alco", "active", "cardio")),
}
SURVEY: dict[str, Number | None] = {
    **dict.fromkeys(("year", "gender", "nativeBorn", "ageGroup", "educGroup")),
    "vocab": Number(0, 10, whole=True),
    "age": Number(18, 89, whole=True),
    "educ": Number(0, 20, whole=True),
}
DEVELOPERS: dict[str, Number | None] = {
    "Country": None,
    "Salary": Number(0, 200_000),
    "YearsCodedJob": Number(0, 20, whole=True),
    "OpenSource": None,
    "Hobby": None,
    "CompanySizeNumber": None,
    "Remote": None,
    "CareerSatisfaction": Number(0, 10, whole=True),
    **dict.fromkeys(
        (
            "Data_scientist",
            "Database_administrator",
            "Desktop_applications_developer",
            "Developer_with_stats_math_background",
            "DevOps",
            "Embedded_developer",
            "Graphic_designer",
            "Graphics_programming",
            "Machine_learning_specialist",
            "Mobile_developer",
            "Quality_assurance_engineer",
            "Systems_administrator",
            "Web_developer",
        )
    ),
}
TUMOURS: dict[str, Number | None] = {
    "year": Number(1978, 1993, whole=True),
    "age": Number(20, 95, whole=True),
    **dict.fromkeys(("meno", "size", "grade")),
    "nodes": Number(0, 40, whole=True),
    "pgr": Number(0, 5_000, whole=True, log=True),
    "er": Number(0, 5_000, whole=True, log=True),
    **dict.fromkeys(("hormon", "chemo")),
    "rtime": Number(0, 8_000, whole=True),
    "recur": None,
    "dtime": Number(0, 8_000, whole=True),
    "death": None,
}
FRESH: Known = {
    "cardio": (CARDIO, "cardio"),
    "GSSvocab": (SURVEY, "nativeBorn"),
    "stackoverflow": (DEVELOPERS, "Remote"),
    "rotterdam": (TUMOURS, "death"),
}
"""What is known of each, and its target."""
