"""The report of a run: one HTML page that needs nothing else, for people who were not there.

It can be made at any time. Until the new items are calibrated together with the originals, "after" is what the
decisions say of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from propose.filled import shown
from propose.outcome import Accepted, Outcome
from propose.recalibrating import Recalibration, scale_note
from propose.report_drawing import GAP, NEW, ORIGINAL, Panel, draw
from propose.report_summary import candidates, counted, diagnostics_of, summary
from propose.report_table import table
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
th.model { writing-mode: vertical-rl; font-weight: normal; white-space: nowrap; padding: .3rem .1rem; }
td.count { padding: .25rem .2rem; } .wide { overflow-x: auto; }
svg { width: 100%; height: auto; } .note { color: #555; font-size: .92rem; } code { overflow-wrap: anywhere; }
"""

ESTIMATES_AND_TRUTH = (
    "DDM and Max Gap are those of the estimates; of the true difficulties, the median over the posterior draws and in "
    "brackets the 90 % interval, before by a fit of the originals alone, after by the joint fit. Estimates are "
    "posterior means, which scatter less than true difficulties, so their figure need not lie in that interval: where "
    "items are even, as after a fill, Max Gap of the estimates tends to lie below it; where there is an unusual gap, "
    "above it, as the items at its edges scatter into it in every draw."
)


def report(outcome: Outcome, found: Recalibration | None = None, ids: Sequence[str] = ()) -> str:
    """Return the page; ``ids`` are those of all items in the filled benchmark, where it has been recalibrated."""
    title = f"BenchFill: {outcome.name}"
    sections = [
        f"<h1>{escape(title)}</h1>",
        _banner(outcome),
        summary(outcome, found),
        _asked(outcome),
        _spread(outcome, found),
        _rounds(outcome),
        _accepted(outcome, found, ids),
        candidates(outcome),
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
        (
            "panel",
            f"{counted(len(outcome.calibrated.models), 'model')}, {counted(config.n_trials, 'answer')} each to an item",
        ),
        ("models", ", ".join(outcome.calibrated.models)),
        ("rewriter", ", ".join(config.rewriter["identities"])),
        (
            "each round",
            f"{counted(settings.gaps, 'gap')}, the widest; for each {counted(settings.parents, 'parent')}; of each "
            + counted(settings.children, "child", "children"),
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
    before, after = diagnostics_of(outcome, found)
    n, new = len(outcome.calibrated.items), len(outcome.accepted)
    headings = ["", "items", "DDM", "Max Gap"]
    if found is not None:
        headings = [*headings, "DDM of true difficulties", "Max Gap of true difficulties"]
    rows = [
        [
            what,
            f"{items:,}",
            *(f"{figure.of_estimates:.4f}" for figure in figures),
            *(
                f"{figure.median:.4f} [{figure.low:.4f}, {figure.high:.4f}]"
                for figure in figures
                if found is not None
            ),
        ]
        for what, items, figures in (("before", n, before), ("after", n + new, after))
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
        "The new items are where their decisions put them; they have not been calibrated with the originals yet."
        if found is None
        else f"New and original items were calibrated together. {escape(scale_note(found))} {ESTIMATES_AND_TRUTH}"
    )
    return (
        "<h2>Difficulty before and after</h2>"
        + table(headings, rows, text=1)
        + f'{picture}<p class="note"><b style="color:{ORIGINAL}">■</b> original items '
        f'<b style="color:{NEW}">■</b> new items <b style="color:{GAP}">■</b> widest gaps. DDM is the mean distance '
        "from evenly spread items, 0 to 0.5; Max Gap the widest interval without an item, as a share of the whole "
        f"range. {note}</p>"
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
    return "<h2>Rounds</h2>" + table(headings, rows, text=2)


def _accepted(outcome: Outcome, found: Recalibration | None, ids: Sequence[str]) -> str:
    if not outcome.accepted:
        return "<h2>Accepted items</h2><p>None.</p>"
    n, models = len(outcome.calibrated.items), outcome.calibrated.models
    rows = [
        _accepted_row(one, ids[n + number] if ids else one.candidate.id, found, n + number)
        for number, one in enumerate(outcome.accepted)
    ]
    head = (
        '<tr><th class="text" rowspan="2">item</th><th rowspan="2">gap (b)</th>'
        f'<th colspan="{len(models) + 1}">right answers of {outcome.config.n_trials} by each model, and of all</th>'
        '<th rowspan="2">b, as decided on</th><th rowspan="2">P(in gap)</th>'
        '<th rowspan="2">b, recalibrated</th><th class="text" rowspan="2">question</th></tr><tr>'
        + "".join(f'<th class="model">{escape(model)}</th>' for model in models)
        + "<th>all</th></tr>"
    )
    return (
        "<h2>Accepted items</h2><p>b is given with its standard deviation.</p>"
        f'<div class="wide"><table>{head}{"".join(rows)}</table></div>'
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
        + "".join(f'<td class="count">{count}</td>' for count in correct)
        + f"<td>{sum(correct)}/{sum(trials)}</td>"
        f"<td>{one.figure('b_mean'):.2f} ± {one.figure('b_sd'):.2f}</td><td>{one.figure('p_in_gap'):.2f}</td>"
        f'<td>{again}</td><td class="question"><details><summary>{escape(_first_words(one.item.question))}</summary>'
        f"{escape(shown(one.item))}\n\nKey: {escape(str(one.item.answer))}</details></td></tr>"
    )


def _first_words(text: str, length: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0] + " …"


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
        + table(["", "in all", "per accepted item"], rows, text=1)
        + f"<p>Expected number of false landings, the sum of 1 − P(in gap) over the accepted items: "
        f"<b>{outcome.state.expected_false_landings:.2f}</b> of {accepted:,}.</p>"
        f'<p class="note">The life of any candidate: <code>python -m propose.show {escape(str(outcome.folder.path))} '
        "ID</code></p>"
    )
