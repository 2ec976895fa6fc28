"""Classification and regression: tables."""

from __future__ import annotations

from benchmarks.paper.experiments import ablations_learning
from benchmarks.paper.experiments import classification as classification_experiment
from benchmarks.paper.experiments import regression as regression_experiment
from benchmarks.paper.experiments import wang as wang_experiment
from benchmarks.paper.report.comparison import Measure, results
from benchmarks.paper.report.density import lecture
from benchmarks.paper.report.markdown import accuracy, budget, squared, table, with_spread
from benchmarks.paper.report.rows import Rows

ACCURACY = Measure("classification", "accuracy", accuracy, larger=True)
MSE = Measure("regression", "mse", squared)
WANG = Measure("wang", "mse", squared)


def classification(rows: Rows) -> str:
    return _section(rows, ACCURACY, "Classification", lecture(classification_experiment), "Accuracy, %:\n")


def regression(rows: Rows) -> str:
    return _section(rows, MSE, "Regression", lecture(regression_experiment), "Test mean squared error:\n")


def wang(rows: Rows) -> str:
    words = lecture(wang_experiment)
    section = _section(rows, WANG, "Regression in Wang's scaling", words, "Mean squared error over ten folds:\n")
    lines = []
    for (dataset, method, epsilon), figure in wang_experiment.PUBLISHED.items():
        cell = rows.cell("wang", dataset, method, epsilon, "mse")
        budget_ = budget(epsilon) if method not in wang_experiment.FLOORS else ""
        lines.append([dataset, method, budget_, str(figure), with_spread(cell, squared)])
    if not section:
        return ""
    words = "\nBeside the figures that the author published; for the others he gives plots only.\n\n"
    return section + words + table(["set", "method", "", "published", "here"], lines, text=3)


def ablations(rows: Rows) -> str:
    name = ablations_learning.NAME
    datasets = rows.datasets(name)
    if not datasets:
        return ""
    lines = []
    for dataset in datasets:
        for rule in ablations_learning.RULES:
            cells = [rows.cell(name, dataset, "rules", epsilon, rule) for epsilon in rows.epsilons(name)]
            lines.append([dataset, rule, *(with_spread(cell, accuracy) for cell in cells)])
    head = ["set", "rule", *map(budget, rows.epsilons(name))]
    return "\n".join(
        ["## Ablations: classification\n", lecture(ablations_learning), "Accuracy, %:\n", table(head, lines, text=2)]
    )


def _section(rows: Rows, measure: Measure, title: str, words: str, unit: str) -> str:
    datasets = rows.datasets(measure.experiment)
    if not datasets:
        return ""
    parts = [f"## {title}\n", words]
    for dataset in datasets:
        picture = f"![{title} on {dataset}](figures/{measure.experiment}-{dataset}.svg)\n"
        parts += [f"### {dataset}\n", picture, unit, results(rows, measure, dataset)]
    return "\n".join(parts)
