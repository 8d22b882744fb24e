#!/usr/bin/env bash
# Make the four filled benchmarks of data/filled_benchs whose names start with SIM-: items, answers and new items all
# come from the simulated panel and the simulated rewriter. Nothing in them is a measurement of any model.
#
#   bash propose/mass_fill/make_simulated.sh [OUTPUT]        about 5 minutes on 2 cores
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
output=$(realpath -m "${1:-$root/data/filled_benchs}")
python=${PYTHON:-$root/.venv/bin/python}
cd "$root"

work=$(mktemp -d)
export BENCHFILL_DATA=$work/data BENCHFILL_RESULTS=$work/results
"$python" -m verifier.simulated --port 0 >"$work/server.log" &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
until grep -q "ready at" "$work/server.log"; do
    kill -0 $server || exit 1
    sleep 0.1
done
port=$(sed -n 's/.*127.0.0.1:\([0-9]*\).*/\1/p' "$work/server.log")
sed "s/:8399/:$port/" verifier/panels/simulated.toml >"$work/panel.toml"
sed "s/:8399/:$port/" propose/rewriters/simulated.toml >"$work/rewriter.toml"

while read -r name families seed; do
    benchmark=$(echo "$name" | tr A-Z a-z)
    "$python" -m verifier.simulated.make_items --count 32 --seed "$seed" --families "$families" \
        --output "$BENCHFILL_DATA/pool/$benchmark.jsonl"
    "$python" -m propose.calibrate "$benchmark" --panel "$work/panel.toml" --trials 8 >"$work/calibrate.log"
    rm -rf "${output:?}/$name" "$output/$name.json" # an earlier one is of another fill
    "$python" -m propose.mass_fill "$benchmark" "$name" --panel "$work/panel.toml" --rewriter "$work/rewriter.toml" \
        --max-gap 0.08 --passes 2 --output "$output" </dev/null
done <<'LIST'
SIM-NUMBERS power,divisible,sequence,chain 1
SIM-ALGEBRA system,committee,draws 2
SIM-CHOICE ordering,fractions 3
SIM-WRITING writing 4
LIST
