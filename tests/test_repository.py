"""What the documents say is what is there: the tree, the options, the pins, the rooms."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted(path.name for path in (ROOT / "scripts").glob("*.py"))
MODULES = ["verifier.fit_ability", "verifier.rollout", "verifier.simulated", "verifier.simulated.make_items"]
# Commands with a --help and no section of their own in the README: run_experiment.sh or their text there leads to them.
PROPOSE = [
    f"propose.{name}"
    for name in ("calibrate", "init", "mass_fill", "recalibrate", "run", "show", "show_prompt", "status")
]
HEAVY = ("arviz", "lm_eval", "matplotlib", "nutpie", "numba", "pandas", "pymc", "pytensor", "sympy")
OPTION = r"--[a-z][a-z0-9-]*"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def repository_files() -> list[Path]:
    """Every file that is, or would be, committed."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


# The README's tree ---------------------------------------------------------------------------------------------


def tree_entries() -> Iterator[str]:
    """Yield the paths in the README's tree: indented names belong to the folder above them."""
    block = next(
        b
        for b in re.findall(r"```\w*\n(.*?)```", read("README.md"), re.S)
        if re.search(r"^\W*scripts/", b, re.M)
    )
    above: list[tuple[int, str]] = []
    for line in block.splitlines():
        entry = re.match(r"[\s│├└─]*", line)
        assert entry
        indent, words = entry.end(), line[entry.end() :].split()
        if not words:
            continue
        while above and above[-1][0] >= indent:
            above.pop()
        path = (above[-1][1] if above else "") + words[0]
        if words[0].endswith("/"):
            above.append((indent, path))
        yield path


def test_readme_tree_names_only_what_exists() -> None:
    missing = [path for path in tree_entries() if "<" not in path and not (ROOT / path).exists()]
    assert not missing


ROOMS = [
    "scripts",
    "irt",
    "perf",
    "propose",
    "verifier",
    "verifier/graders",
    "verifier/pools",
    "verifier/simulated",
]


@pytest.mark.parametrize("room", ROOMS)
def test_readme_tree_names_every_file_of_a_room(room: str) -> None:
    there = {f"{room}/{path.name}" for path in (ROOT / room).glob("*.py") if path.name != "__init__.py"}
    assert there - set(tree_entries()) == set()


# Scripts and what is written about them ------------------------------------------------------------------------


@cache
def help_of(script: str) -> subprocess.CompletedProcess[str]:
    """Run the --help of a script, named by its file, or of a module."""
    run = ["-m", script] if script in [*MODULES, *PROPOSE] else [f"scripts/{script}"]
    command = [sys.executable, "-X", "importtime", *run, "--help"]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def options_of(script: str) -> set[str]:
    """Return the options that a script's --help lists, --help itself left out."""
    lines = re.findall(
        rf"^ +((?:-\w[^-]*, )?{OPTION}.*)$", help_of(script).stdout.partition("\noptions:")[2], re.M
    )
    # "-n N, --number N   text": the names end where two spaces begin the text.
    return {name for line in lines for name in re.findall(OPTION, line.split("  ")[0])} - {"--help"}


def section_of(script: str) -> str:
    """Return the README's section whose heading names the script."""
    headings = list(
        re.finditer(r"^(##+) (.*)$", re.sub(r"```.*?```", blank_out, read("README.md"), flags=re.S), re.M)
    )
    for number, heading in enumerate(headings):
        if heading[2].strip("`") in (script, f"scripts/{script}", f"python -m {script}"):
            later = (h.start() for h in headings[number + 1 :] if len(h[1]) <= len(heading[1]))
            return read("README.md")[heading.end() : next(later, None)]
    pytest.fail(f"README.md has no section whose heading names `{script}`")


def blank_out(block: re.Match[str]) -> str:
    """Return a text of the same length without headings: a comment in a shell example is not one."""
    return "".join("\n" if character == "\n" else " " for character in block[0])


@pytest.mark.parametrize("script", [*SCRIPTS, *MODULES, *PROPOSE])
def test_help_answers_with_two_examples(script: str) -> None:
    answer = help_of(script)
    assert answer.returncode == 0, answer.stderr
    examples = re.findall(
        rf"^\s+(?:\$ )?python3? (?:scripts/|-m ){re.escape(script)}(?:\s|$)", answer.stdout, re.M
    )
    assert len(examples) >= 2


@pytest.mark.parametrize("script", [*SCRIPTS, *MODULES, *PROPOSE])
def test_help_is_quick_because_it_imports_nothing_heavy(script: str) -> None:
    imported = {line.rpartition("|")[2].strip() for line in help_of(script).stderr.splitlines()}
    assert imported.isdisjoint(HEAVY)


@pytest.mark.parametrize("script", [*SCRIPTS, *MODULES])
def test_readme_section_has_every_option_and_no_other(script: str) -> None:
    section = section_of(script)
    mentioned = set(re.findall(rf"(?<![\w-]){OPTION}", section))
    assert options_of(script) - mentioned == set(), "in --help, but not in the README"
    others = {name for name in [*SCRIPTS, *MODULES] if name in section}
    known = set().union(*(options_of(name) for name in {script, *others})) | {"--help"}
    assert mentioned - known == set(), "in the README, but not in --help"


@pytest.mark.parametrize("document", ["README.md", "SETUP.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_commands_in_documents_name_scripts_and_options_that_exist(document: str) -> None:
    for script, arguments in re.findall(
        r"scripts/(\w+\.py)\b([^\n`#|&;]*)", read(document).replace("\\\n", " ")
    ):
        assert script in SCRIPTS
        assert set(re.findall(rf"(?<![\w-]){OPTION}", arguments)) <= options_of(script) | {"--help"}, script


def test_make_targets_in_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.M))
    for document in ("README.md", "SETUP.md", "CONTRIBUTING.md"):
        assert set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", read(document), re.M)) <= {
            pair for target in targets for pair in ((target, ""), ("", target))
        }


# Rooms ---------------------------------------------------------------------------------------------------------


def imports_of(path: Path) -> set[str]:
    """Return the names of the modules that a file imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(f"{'.' * node.level}{node.module or ''}")
    return found


def runs_on_python_39(name: str) -> bool:
    patterns = tomllib.loads(read("pyproject.toml"))["tool"]["ruff"]["per-file-target-version"]
    return any(fnmatch(name, pattern) for pattern in patterns)


@pytest.mark.parametrize(
    ("room", "forbidden"),
    [
        ("irt", {"", "propose", "verifier", "scripts", "tests", "perf"}),
        ("verifier", {"", "propose", "scripts", "tests", "perf"}),
        ("propose", {"", "scripts", "tests", "perf"}),
    ],
)
def test_imports_point_one_way_and_packages_import_nothing_heavy(room: str, forbidden: set[str]) -> None:
    for path in (ROOT / room).rglob("*.py"):
        assert {name.partition(".")[0] for name in imports_of(path)}.isdisjoint(forbidden), path
        assert path.name != "__init__.py" or imports_of(path) <= {"irt.interrupts"}


def test_what_runs_on_python_39_starts_without_any_package() -> None:
    """-I and -S leave nothing but the standard library and what the script itself puts on sys.path."""
    scripts = [name for name in SCRIPTS if runs_on_python_39(f"scripts/{name}")]
    assert len(scripts) >= 2
    for script in scripts:
        command = [sys.executable, "-I", "-S", f"scripts/{script}", "--help"]
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert answer.returncode == 0, answer.stderr


# Hygiene -------------------------------------------------------------------------------------------------------


def test_no_except_hides_what_it_does_not_know() -> None:
    """A handler for everything may clean up, and must then raise what it caught."""
    for path in repository_files():
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ExceptHandler):
                    caught = ast.unparse(node.type) if node.type else "BaseException"
                    broad = re.search(r"\b(Base)?Exception\b", caught)
                    assert not broad or ast.unparse(node.body[-1]) == "raise", f"{path}:{node.lineno}"


def test_nothing_is_left_to_do_in_a_comment() -> None:
    left_over = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    for path in repository_files():
        if path.suffix in {".py", ".sh", ".md", ".toml", ".txt"}:
            assert not left_over.search(path.read_text(encoding="utf-8")), path


def test_no_large_file() -> None:
    assert [path for path in repository_files() if path.stat().st_size > 1_000_000] == []


# Third parties -------------------------------------------------------------------------------------------------


def notice_rows() -> list[list[str]]:
    """Return the cells of every table row of THIRD_PARTY_NOTICES.md."""
    lines = read("THIRD_PARTY_NOTICES.md").splitlines()
    return [
        [cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")
    ]


def test_every_pinned_package_has_its_notice() -> None:
    pins = {
        pin
        for name in ("requirements_irt.txt", "requirements_verifier.txt", "requirements_dev.txt")
        for pin in re.findall(r"^([\w.-]+)==([\w.]+)", read(name), re.M)
    }
    assert pins == {(row[0], row[1]) for row in notice_rows()} & pins


def test_every_released_benchmark_has_its_notice() -> None:
    released = {path.name for path in (ROOT / "data" / "benchmarks").iterdir() if path.is_dir()}
    assert released
    assert released - {row[0] for row in notice_rows()} == set()
