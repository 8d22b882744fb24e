#!/usr/bin/env bash
# BenchFill: find the widest difficulty gaps of a benchmark and fill them with new items.
#
#   bash run_experiment.sh demo                    the whole chain on a simulated benchmark; no model, no network
#
#   bash run_experiment.sh calibrate               let the panel answer the benchmark's items, and fit their difficulty
#   bash run_experiment.sh init                    check that all is there, and make a run
#   bash run_experiment.sh run                     start or resume it
#   bash run_experiment.sh status [--json]         where it stands, also while it runs
#
# Afterwards: python -m propose.recalibrate RUN_FOLDER fits originals and new items together, and writes the report.
# The benchmark's items are data/pool/BENCHMARK.jsonl; those of aime24, aime25, aime26, amc23, gaokao2023en, bbh_3obj,
# mmlu_bio and ifeval are fetched if they are not there. What follows the word is passed on to python -m propose.WORD.
set -euo pipefail

root=$(dirname "$(realpath "${BASH_SOURCE[0]}")") # also if it was called through a link

# --- settings, each overridable by the environment ----------------------------------------------------------------
BENCHMARK=${BENCHMARK:-aime26}                       # which benchmark
RUN=${RUN:-first}                                    # the run's name
GAPS=${GAPS:-3}                                      # gaps that a round fills, the widest
MAX_ROUNDS=${MAX_ROUNDS:-8}                          # rounds at most
PARENTS=${PARENTS:-4}                                # items at the edges of a gap that are rewritten
CHILDREN=${CHILDREN:-4}                              # candidates of each parent
TRIALS=${TRIALS:-8}                                  # calibrate: answers a verifier and item
WAVE=${WAVE:-1}                                      # verifiers that answer before hopeless candidates are dropped
MAX_ROLLOUTS=${MAX_ROLLOUTS:-}                       # hard cap of the panel's answers in a run; empty: none
MAX_TOKENS=${MAX_TOKENS:-}                           # hard cap of the tokens that panel and rewriter write; empty: none
PANEL=${PANEL:-}                                     # who answers; empty: verifier/panel.toml; run: as init was told
REWRITER=${REWRITER:-}                               # who writes; empty: propose/rewriter.toml; run: as init was told
PYTHON=${PYTHON:-$root/.venv/bin/python}             # made by `make setup`
export BENCHFILL_DATA=${BENCHFILL_DATA:-$root/data}                     # pool/, matrix/, calibration/, rollouts/
export BENCHFILL_RESULTS=${BENCHFILL_RESULTS:-$root/propose/results}    # BENCHMARK/RUN/
# ------------------------------------------------------------------------------------------------------------------

if [ ! -x "$PYTHON" ] && ! command -v "$PYTHON" >/dev/null; then
    echo "run_experiment.sh: $PYTHON is not there; run 'make setup' in $root, or set PYTHON" >&2
    exit 2
fi
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"

fetch() { # the items of a benchmark that is known here
    local pool=$BENCHFILL_DATA/pool/$BENCHMARK.jsonl
    case $BENCHMARK in
        aime24 | aime25 | aime26 | amc23 | gaokao2023en | bbh_3obj | mmlu_bio | ifeval)
            [ -e "$pool" ] || "$PYTHON" "$root/scripts/fetch_items.py" "$BENCHMARK" --output "$pool" ;;
    esac
}

panel=${PANEL:-$root/verifier/panel.toml}
rewriter=${REWRITER:-$root/propose/rewriter.toml}
same=()
[ -z "$PANEL" ] || same+=(--panel "$PANEL")
[ -z "$REWRITER" ] || same+=(--rewriter "$REWRITER")
caps=()
[ -z "$MAX_ROLLOUTS" ] || caps+=(--max-rollouts "$MAX_ROLLOUTS")
[ -z "$MAX_TOKENS" ] || caps+=(--max-tokens "$MAX_TOKENS")

# The names come last, behind --: one that begins with a hyphen is a name, and no option.
word=${1:-}
[ $# -eq 0 ] || shift
case $word in
    calibrate)
        fetch
        exec "$PYTHON" -m propose.calibrate --panel "$panel" --trials "$TRIALS" "$@" -- "$BENCHMARK" ;;
    init)
        exec "$PYTHON" -m propose.init --panel "$panel" --rewriter "$rewriter" --gaps "$GAPS" \
            --max-rounds "$MAX_ROUNDS" --parents "$PARENTS" --children "$CHILDREN" --verifiers-a-wave "$WAVE" \
            ${caps[@]+"${caps[@]}"} "$@" -- "$BENCHMARK" "$RUN" ;;
    run)
        exec "$PYTHON" -m propose.run ${same[@]+"${same[@]}"} ${caps[@]+"${caps[@]}"} "$@" -- "$BENCHMARK" "$RUN" ;;
    status)
        exec "$PYTHON" -m propose.status "$@" -- "$BENCHMARK" "$RUN" ;;
    demo)
        exec "$PYTHON" "$root/scripts/demo_benchfill.py" --output-dir "$root/demo_output/benchfill" "$@" ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        echo
        echo "Settings, each an environment variable:"
        sed -n 's/^\(export \)\{0,1\}\([A-Z_]*\)=${[A-Z_]*:-\([^}]*\)} *# \(.*\)/\2=\3|\4/p' "${BASH_SOURCE[0]}" |
            while IFS='|' read -r setting text; do printf '  %-46s %s\n' "$setting" "$text"; done ;;
    *)
        echo "run_experiment.sh: say what to do: init, run, status, calibrate or demo" >&2
        exit 2 ;;
esac
