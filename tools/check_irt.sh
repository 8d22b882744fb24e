#!/bin/sh
# Prove that requirements_irt.txt alone is enough to fit: a fresh environment, a tiny log, the three commands.
#
#   sh tools/check_irt.sh
#   PYTHON=python3.14 sh tools/check_irt.sh
set -eu
cd "$(dirname "$0")/.."
base=$(sh tools/find_python.sh)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
unset PYTHONPATH
export PYTHONNOUSERSITE=1

echo "check-irt: $("$base" --version) at $base, packages of requirements_irt.txt only"
"$base" -m venv "$folder/venv"
python=$folder/venv/bin/python
"$python" -m pip install -qq --disable-pip-version-check --no-input --only-binary=:all: -r requirements_irt.txt </dev/null

log=$folder/responses.csv
echo model,item_id,trial,correct >"$log"
for model in 1 2 3 4 5; do
    for item in 1 2 3 4 5 6 7; do
        for trial in 1 2; do
            # Better models and easier items have more right answers; the second trial is a little harder.
            echo "model-$model,item-$item,$trial,$((model * 3 / 2 + 1 >= item + trial))" >>"$log"
        done
    done
done

"$python" scripts/prepare_response_matrix.py "$log" --n-trials 2 --output "$folder/response_matrix.csv"
"$python" scripts/fit_irt.py "$folder/response_matrix.csv" --n-trials 2 --output-dir "$folder"
"$python" scripts/diagnose_benchmark.py "$folder/difficulty.csv"
echo "requirements_irt.txt is enough"
