#!/bin/sh
# Print the path of a Python 3.12 or newer that runs and can make virtual environments; exit 1 with one line if
# there is none.
#
#   sh tools/find_python.sh
#   PYTHON=/opt/python/bin/python3.13 sh tools/find_python.sh     # this one or none
#
# Being there is not enough: a pyenv shim can exist and fail, and Debian's python3 may lack venv. So every candidate
# is run. Python 3.12 to 3.14 come first, because every pinned package has wheels for them; a newer one is the last
# resort. Free-threaded builds are left out: the pinned packages have no wheels for them.
set -u

# The base interpreter is printed, not the virtual environment's that may be active: that one can be removed.
probe='
import sys, sysconfig
low, high = (3, 12), (3, int(sys.argv[1]))
if not low <= sys.version_info[:2] <= high or sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit(1)
import ensurepip, venv
print(getattr(sys, "_base_executable", "") or sys.executable)
'

# try CANDIDATE NEWEST_MINOR: prints the interpreter and ends the search if it will do.
try() {
    [ -x "$1" ] || return 0
    found=$("$1" -c "$probe" "$2" </dev/null 2>/dev/null) || return 0
    printf '%s\n' "$found"
    exit 0
}

# Every executable of a name on PATH, not only the first: a broken shim must not hide a Python behind it.
try_path() {
    old_ifs=$IFS
    IFS=:
    set -f
    for directory in $PATH; do
        try "${directory:-.}/$1" "$2"
    done
    set +f
    IFS=$old_ifs
}

if [ -n "${PYTHON:-}" ]; then
    case $PYTHON in
        */*) try "$PYTHON" 99 ;;
        *) try_path "$PYTHON" 99 ;;
    esac
    echo "PYTHON=$PYTHON is no Python 3.12 or newer with the venv module; name another, or unset it" >&2
    exit 1
fi

pyenv_versions=${PYENV_ROOT:-${HOME:-}/.pyenv}/versions
for newest in 14 99; do
    for name in python3.14 python3.13 python3.12 python3 python; do
        try_path "$name" "$newest"
    done
    for minor in 14 13 12 1[5-9] [2-9][0-9]; do
        for candidate in "$pyenv_versions"/3.$minor.*/bin/python "$pyenv_versions"/3.$minor-*/bin/python; do
            try "$candidate" "$newest"
        done
    done
    if command -v uv >/dev/null 2>&1; then
        try "$(uv python find --no-project '>=3.12' </dev/null 2>/dev/null)" "$newest"
    fi
done

echo "no Python 3.12 or newer with the venv module found: install one (see SETUP.md), or set PYTHON to its path" >&2
exit 1
