#!/usr/bin/env bash
# Let the panel answer one benchmark: fetch its items if they are not here, then ask and grade. Run it again to resume.
#
#   bash verifier/run_rollout.sh aime25
#   PANEL=verifier/panels/local.toml TRIALS=4 bash verifier/run_rollout.sh amc23
#   ITEMS=my_items.jsonl OUT=my_benchmark bash verifier/run_rollout.sh mine --regrade
#
# What follows the benchmark's name is passed on to `python -m verifier.rollout`.
set -euo pipefail

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}"
    echo "Settings, each an environment variable:"
    sed -n 's/^\([A-Z]*\)=\${[A-Z]*:-\([^}]*\)} *# /  \1=\2    /p' "${BASH_SOURCE[0]}"
    exit 0
fi
if [ $# -eq 0 ] || [ "${1#-}" != "$1" ]; then
    echo "run_rollout.sh: name a benchmark first, for example: bash verifier/run_rollout.sh aime25" >&2
    exit 2
fi
benchmark=$1
shift
root=$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.." && pwd)

own_items=${ITEMS:-}

# --- settings, each overridable by the environment ----------------------------------------------------------------
PANEL=${PANEL:-$root/verifier/panel.toml}           # who answers
TRIALS=${TRIALS:-8}                                 # answers a verifier and item
ITEMS=${ITEMS:-$root/data/pool/$benchmark.jsonl}    # the questions
OUT=${OUT:-$root/data/rollouts/$benchmark}          # the journal, the matrix, the summary
PYTHON=${PYTHON:-$root/.venv/bin/python}            # made by `make setup`
# ------------------------------------------------------------------------------------------------------------------

if [ ! -x "$PYTHON" ] && ! command -v "$PYTHON" >/dev/null; then
    echo "run_rollout.sh: $PYTHON is not there; run 'make setup' in $root, or set PYTHON" >&2
    exit 2
fi
[ -n "$own_items" ] || [ -e "$ITEMS" ] || "$PYTHON" "$root/scripts/fetch_items.py" "$benchmark" --output "$ITEMS"
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
exec "$PYTHON" -m verifier.rollout --items "$ITEMS" --panel "$PANEL" --trials "$TRIALS" --out "$OUT" "$@"
