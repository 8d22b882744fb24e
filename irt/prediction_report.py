"""Scores of predictions as a CSV row, as JSON, and as tables for readers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from irt.mirt_data import Benchmarks
from irt.prediction_scores import Score
from irt.tables import NOT_KNOWN, Table, as_text, rounded

SCHEMA_VERSION = 1
HEADER = ("predictor", "minus", "average", "benchmark", "metric", "value", "low", "high")


# For programs ---------------------------------------------------------------------------------------------------


def csv_row(score: Score) -> list[str]:
    """Return a score's cells; blank where not defined."""
    figures = ("" if math.isnan(x) else f"{x:z.6f}" for x in (score.value, score.low, score.high))
    return [score.predictor, score.baseline, score.average, score.benchmark, score.metric, *figures]


def json_row(score: Score) -> dict[str, Any]:
    """Return a score by the names of the header; null where not defined or not named."""
    named = (score.predictor, score.baseline or None, score.average, score.benchmark or None, score.metric)
    figures = (rounded(x, 6) for x in (score.value, score.low, score.high))
    return dict(zip(HEADER, (*named, *figures), strict=True))


def json_report(
    data: Benchmarks,
    scores: Sequence[Score],
    settings: Mapping[str, Any],
    *,
    answers: int,
    not_converged: Sequence[str],
) -> dict[str, Any]:
    """Return all figures beside what was asked for, ``settings``, and how many answers were predicted."""
    return {
        "schema_version": SCHEMA_VERSION,
        **settings,
        "models": len(data.models),
        "items": len(data.items),
        "benchmarks": list(data.names),
        "predicted_answers": answers,
        "fits_not_converged": len(not_converged),
        "not_converged": list(not_converged),
        "warnings": list(data.warnings),
        "inputs": [file.entry() for file in data.inputs],
        "scores": [json_row(score) for score in scores],
    }


# For readers ----------------------------------------------------------------------------------------------------


def report_lines(scores: Sequence[Score], dims: Sequence[int]) -> list[str]:
    """Return the tables: over all answers, over benchmarks, the gains, and each benchmark."""
    found = {(s.predictor, s.baseline, s.average, s.benchmark, s.metric): s for s in scores}
    predictors = list(dict.fromkeys(score.predictor for score in scores))
    baselines = list(dict.fromkeys(score.baseline for score in scores if score.baseline))
    benchmarks = list(dict.fromkeys(score.benchmark for score in scores if score.benchmark))
    metrics = list(dict.fromkeys(score.metric for score in scores))
    lines = []
    for average, title in (
        ("micro", "All answers (micro), 95 % intervals over models"),
        ("macro", "Mean over benchmarks (macro)"),
    ):
        rows = [(name, *(_shown(found[name, "", average, "", m]) for m in metrics)) for name in predictors]
        lines += ["", title, *_table(("", *metrics), rows)]
    rows = [
        (
            f"{count}-D minus {baseline}",
            *(_shown(found[f"{count}-D", baseline, "micro", "", m]) for m in metrics),
        )
        for baseline in baselines
        for count in dims
    ]
    lines += ["", "Differences over all answers, on the same resampled models", *_table(("", *metrics), rows)]
    for metric in ("accuracy", "log-loss"):
        rows = [
            (name, *(_number(found[p, "", "benchmark", name, metric].value) for p in predictors))
            for name in benchmarks
        ]
        lines += ["", f"{metric.capitalize()} by benchmark", *_table(("", *predictors), rows)]
    blank = [
        name for name in benchmarks if math.isnan(found[predictors[0], "", "benchmark", name, "AUC"].value)
    ]
    if blank:
        lines += ["", f"No AUC, the predicted answers being all right or all wrong: {', '.join(blank)}"]
    return lines


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return aligned lines, the first column left."""
    return as_text(Table(headings, (True, *[False] * (len(headings) - 1)), rows))


def _shown(score: Score) -> str:
    """Return a figure and, of accuracy and log-loss, its interval; a difference has its sign."""
    sign = "+" if score.baseline else ""
    value = _number(score.value, sign)
    if score.metric not in ("accuracy", "log-loss"):
        return value
    return f"{value} [{_number(score.low, sign)}, {_number(score.high, sign)}]"


def _number(value: float, sign: str = "") -> str:
    """Return a figure with three decimals, four for a difference; a dash where it is not defined."""
    return NOT_KNOWN if math.isnan(value) else format(value, f"{sign}z.{4 if sign else 3}f")
