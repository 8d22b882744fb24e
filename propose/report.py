"""The report of a run: one HTML page that needs nothing else, for people who were not there.

It can be made at any time. Until the new items are calibrated together with the originals, "after" is what the
decisions say of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from irt.difficulty import diagnose
from propose.candidate import ACCEPTED, REASONS, last_decision
from propose.filled import shown
from propose.outcome import Accepted, Outcome
from propose.recalibrating import Figure, Recalibration
from propose.report_drawing import GAP, NEW, ORIGINAL, Panel, draw
from propose.starts import caps_in_force
from propose.targets import gaps_of

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
.simulated { background: #b50909; color: white; font-size: 2rem; font-weight: bold; line-height: 1.2; padding: 1rem; }
.simulated small { display: block; font-size: 1rem; font-weight: normal; margin-top: .4rem; }
table { border-collapse: collapse; margin: .8rem 0; } th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd;
  text-align: right; vertical-align: top; font-variant-numeric: tabular-nums; } th { border-bottom: 2px solid #999; }
.text { text-align: left; } td.question { text-align: left; white-space: pre-wrap; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; } .note { color: #555; font-size: .92rem; } code { overflow-wrap: anywhere; }
"""


def report(outcome: Outcome, found: Recalibration | None = None, ids: Sequence[str] = ()) -> str:
    """Return the page; ``ids`` are those of all items in the filled benchmark, where it has been recalibrated."""
    title = f"BenchFill: {outcome.name}"
    sections = [
        f"<h1>{escape(title)}</h1>",
        _banner(outcome),
        _summary(outcome, found),
        _asked(outcome),
        _spread(outcome, found),
        _rounds(outcome),
        _accepted(outcome, found, ids),
        _rejections(outcome),
        _cost(outcome),
    ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            *filter(None, sections),
            "</body></html>",
            "",
        ]
    )


def _banner(outcome: Outcome) -> str:
    if not outcome.config.simulated:
        return ""
    return (
        '<p class="simulated">SIMULATED PANEL<small>Twelve simulated examinees and a simulated rewriter gave every '
        "answer here. Nothing on this page is a measurement of any model.</small></p>"
    )


def _summary(outcome: Outcome, found: Recalibration | None) -> str:
    before, after = _diagnostics(outcome, found)
    accepted, made = len(outcome.accepted), len(outcome.state.decisions)
    return (
        f"<p>{made:,} candidates were made in {len(outcome.state.rounds)} finished rounds, and <b>{accepted:,} "
        f"accepted</b>. The widest gap in difficulty (Max Gap) went from <b>{before[1].of_estimates:.3f}</b> to "
        f"<b>{after[1].of_estimates:.3f}</b>. Of the accepted items, "
        f"<b>{outcome.state.expected_false_landings:.1f}</b> are expected to lie outside the gap that they were "
        "accepted for.</p>"
    )


def _asked(outcome: Outcome) -> str:
    config, settings = outcome.config, outcome.config.settings
    caps = [
        f"at most {cap:,} {what}"
        for cap, what in zip(
            caps_in_force(settings, outcome.starts), ("answers of the panel", "tokens"), strict=True
        )
        if cap is not None
    ]
    rows = [
        ("benchmark", f"{settings.benchmark}, {len(outcome.calibrated.items):,} items"),
        ("panel", f"{len(outcome.calibrated.models)} models, {config.n_trials} answers each to an item"),
        ("models", ", ".join(outcome.calibrated.models)),
        ("rewriter", ", ".join(config.rewriter["identities"])),
        (
            "each round",
            f"the {settings.gaps} widest gaps × {settings.parents} parents × {settings.children} children",
        ),
        ("rounds", f"at most {settings.max_rounds}" + "".join(f", {cap}" for cap in caps)),
        (
            "accepted",
            f"if the mean of the difficulty's posterior is in a gap, with P(in that gap) ≥ {settings.accept_above:g}",
        ),
        ("dropped early", f"if P(accepted in the end) falls below {settings.drop_below:g}"),
        ("started", config.created),
    ]
    body = "".join(
        f'<tr><th class="text">{escape(name)}</th><td class="text">{escape(text)}</td></tr>'
        for name, text in rows
    )
    return f"<h2>What was asked</h2><table>{body}</table>"


def _spread(outcome: Outcome, found: Recalibration | None) -> str:
    before, after = _diagnostics(outcome, found)
    n, new = len(outcome.calibrated.items), len(outcome.accepted)
    rows = [
        ["before", f"{n:,}", *map(_with_interval, before)],
        ["after", f"{n + new:,}", *map(_with_interval, after)],
    ]
    b_before = outcome.calibrated.b_mean.tolist()
    b_after = b_before if found is None else found.fit.difficulty.mean[:n].tolist()
    b_new = (outcome.b_accepted if found is None else found.fit.difficulty.mean[n:]).tolist()
    gaps = outcome.config.settings.gaps
    picture = draw(
        [
            Panel("before", b_before, [], [(gap.low, gap.high) for gap in gaps_of(b_before, [])[:gaps]]),
            Panel("after", b_after, b_new, [(gap.low, gap.high) for gap in gaps_of(b_after, b_new)[:gaps]]),
        ]
    )
    note = (
        "New and original items were calibrated together. Figures are of the estimates; in brackets the 90 % interval "
        "over the posterior draws: before, of a fit of the originals alone; after, of the joint fit. Items at the "
        "edges of a real gap scatter into it in every draw, so that interval of Max Gap lies below what the estimates "
        "say."
        if found is not None
        else "The new items are where their decisions put them; they have not been calibrated with the originals yet."
    )
    return (
        "<h2>Difficulty before and after</h2>"
        + _table(["", "items", "DDM", "Max Gap"], rows, text=1)
        + f'{picture}<p class="note"><b style="color:{ORIGINAL}">■</b> original items '
        f'<b style="color:{NEW}">■</b> new items <b style="color:{GAP}">■</b> widest gaps. {note} DDM is the mean '
        "distance from evenly spread items, 0 to 0.5; Max Gap the widest interval without an item, as a share of the "
        "whole range.</p>"
    )


def _diagnostics(
    outcome: Outcome, found: Recalibration | None
) -> tuple[tuple[Figure, Figure], tuple[Figure, Figure]]:
    """Return DDM and Max Gap before, and after; without a recalibration they have no interval (NaN)."""
    if found is not None:
        return (found.before.ddm, found.before.max_gap), (found.after.ddm, found.after.max_gap)
    unknown = float("nan")
    before = outcome.calibrated.b_mean.tolist()
    return tuple(  # type: ignore[return-value]
        tuple(Figure(value, unknown, unknown, unknown) for value in (one.ddm, one.max_gap))
        for one in (diagnose(before), diagnose(before + outcome.b_accepted.tolist()))
    )


def _rounds(outcome: Outcome) -> str:
    rows = [
        [
            str(row["round"]),
            "; ".join(f"{gap['low']:.2f} to {gap['high']:.2f}" for gap in row["targets"]),
            f"{row['candidates']:,}",
            f"{len(row['accepted']):,}",
            f"{row['rollouts']:,}",
        ]
        for row in outcome.state.rounds
    ]
    if not rows:
        return "<h2>Rounds</h2><p>No round is finished yet.</p>"
    headings = ["round", "gaps aimed at (b)", "candidates", "accepted", "panel answers so far"]
    return "<h2>Rounds</h2>" + _table(headings, rows, text=2)


def _accepted(outcome: Outcome, found: Recalibration | None, ids: Sequence[str]) -> str:
    if not outcome.accepted:
        return "<h2>Accepted items</h2><p>None.</p>"
    n = len(outcome.calibrated.items)
    rows = []
    for number, one in enumerate(outcome.accepted):
        rows.append(_accepted_row(one, ids[n + number] if ids else one.candidate.id, found, n + number))
    headings = [
        "item",
        "gap (b)",
        "right answers",
        "b, as decided on",
        "P(in gap)",
        "b, recalibrated",
        "item",
    ]
    head = "".join(
        f"<th{' class=text' if place in (0, 6) else ''}>{escape(text)}</th>"
        for place, text in enumerate(headings)
    )
    return (
        "<h2>Accepted items</h2><p>Right answers: of all models together, then of each in the order above. "
        "b is given with its standard deviation.</p>"
        f"<table><tr>{head}</tr>{''.join(rows)}</table>"
    )


def _accepted_row(one: Accepted, name: str, found: Recalibration | None, place: int) -> str:
    correct, trials = one.figure("correct"), one.figure("trials")
    again = (
        "—"
        if found is None
        else f"{found.fit.difficulty.mean[place]:.2f} ± {found.fit.difficulty.sd[place]:.2f}"
    )
    label = escape(name) if name == one.candidate.id else f"{escape(name)}<br>{escape(one.candidate.id)}"
    return (
        f'<tr><td class="text">{label}</td>'
        f"<td>{one.figure('low'):.2f} to {one.figure('high'):.2f}</td>"
        f"<td>{sum(correct)}/{sum(trials)}<br><small>{' '.join(map(str, correct))}</small></td>"
        f"<td>{one.figure('b_mean'):.2f} ± {one.figure('b_sd'):.2f}</td><td>{one.figure('p_in_gap'):.2f}</td>"
        f'<td>{again}</td><td class="question"><details><summary>{escape(_first_words(one.item.question))}</summary>'
        f"{escape(shown(one.item))}\n\nKey: {escape(str(one.item.answer))}</details></td></tr>"
    )


def _first_words(text: str, length: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0] + " …"


def _rejections(outcome: Outcome) -> str:
    last = [last_decision(stages) for stages in outcome.state.decisions.values()]
    counts = Counter(
        (decision.stage, decision.reason)
        for decision in last
        if decision.reason and decision.decision != ACCEPTED
    )
    rows = [
        [stage, reason.replace("_", " "), REASONS[reason], f"{counts[stage, reason]:,}"]
        for reason in REASONS
        for stage in ("screen", "drop", "verify")
        if counts[stage, reason]
    ]
    if not rows:
        return "<h2>Rejections</h2><p>None.</p>"
    return "<h2>Rejections</h2>" + _table(["stage", "reason", "what it means", "candidates"], rows, text=3)


def _cost(outcome: Outcome) -> str:
    spent, accepted = outcome.state.spent, len(outcome.accepted)

    def each(value: int) -> str:
        return f"{value / accepted:,.0f}" if accepted else "—"

    rows = [
        [what, f"{value:,}", each(value)]
        for what, value in (
            ("answers of the panel", spent.rollouts),
            ("tokens written by the panel", spent.panel_tokens),
            ("tokens written by the rewriter", spent.rewriter_tokens),
        )
    ]
    return (
        "<h2>Cost</h2>"
        + _table(["", "in all", "per accepted item"], rows, text=1)
        + f"<p>Expected number of false landings, the sum of 1 − P(in gap) over the accepted items: "
        f"<b>{outcome.state.expected_false_landings:.2f}</b> of {accepted:,}.</p>"
        f'<p class="note">The life of any candidate: <code>python -m propose.show {escape(str(outcome.folder.path))} '
        "ID</code></p>"
    )


def _with_interval(figure: Figure) -> str:
    if figure.low != figure.low:
        return f"{figure.of_estimates:.4f}"
    return f"{figure.of_estimates:.4f} [{figure.low:.4f}, {figure.high:.4f}]"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], text: int) -> str:
    """Return a table whose first ``text`` columns are aligned left."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=text' if place < text else ''}>{escape(cell)}</{tag}>"
            for place, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<table><tr>{line(headings, 'th')}</tr>{body}</table>"
