#!/bin/sh
# Make .venv with what requirements_dev.txt pins. Does nothing when that is there already.
#
#   sh tools/setup.sh
#   PYTHON=python3.13 sh tools/setup.sh
#
# .venv/.installed is written last, so its presence means that the installation was completed. It holds what was
# asked for, word for word: the place and the requirements files. Any difference, or a Python that no longer runs,
# makes .venv anew; file times play no part, as a fresh clone has odd ones.
set -eu
cd "$(dirname "$0")/.."
stamp=.venv/.installed

wanted() {
    echo "# $(pwd -P)/.venv"
    cat requirements_irt.txt requirements_verifier.txt requirements_dev.txt
}

base=$( [ -z "${PYTHON:-}" ] || sh tools/find_python.sh )  # a chosen Python must be the one that .venv was made with
if wanted | cmp -s - "$stamp" && .venv/bin/python -c 'import pip' 2>/dev/null; then
    [ -n "$base" ] && [ "$base" != "$(cat .venv/.base)" ] || exit 0
fi

base=${base:-$(sh tools/find_python.sh)}
echo "setup: using $("$base" --version) at $base"
rm -f "$stamp"
"$base" -m venv --clear .venv
printf '%s\n' "$base" >.venv/.base
echo "setup: installing $(wanted | grep -c ==) packages into .venv"
# Four packages of pure Python are published as source only.
if ! .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input --only-binary=:all: \
    --no-binary=langdetect,rouge_score,sqlitedict,word2number -r requirements_dev.txt </dev/null; then
    echo "setup: the installation failed (pip's reason is above); run make setup again, or see SETUP.md" >&2
    exit 1
fi
wanted >"$stamp.new"
mv "$stamp.new" "$stamp"
echo "setup: ready"
