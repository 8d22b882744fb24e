"""fit_irt.py as a user runs it: files, exit statuses, one-line errors before anything heavy is imported."""

from __future__ import annotations

import csv
import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irt.settings import available_cpus
from scripts import fit_irt
from tests.signals import allow_interrupts
from tests.simulation import simulate_counts

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "fit_irt.py"
QUICK = ["--chains", "2", "--tune", "200", "--draws", "200"]
Run = Callable[..., subprocess.CompletedProcess[str]]


def write_matrix(path: Path, models: int = 5, items: int = 9, trials: int = 3, **options: float) -> Path:
    data = simulate_counts(models, items, trials, **options)  # type: ignore[arg-type]
    with open(path, "w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["model", *(f"q{i}" for i in range(items))])
        for m in range(models):
            cells = ["" if n == 0 else int(k) for k, n in zip(data.correct[m], data.trials[m], strict=True)]
            writer.writerow([f"model,{m}", *cells])
    return path


def run(*arguments: object, python_options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *python_options, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process, where PyMC is imported once: half of what a quick fit takes is that."""

    def run_it(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = ["fit_irt.py", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        return subprocess.CompletedProcess(words, fit_irt.main(), *capsys.readouterr())

    return run_it


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_three_files_and_the_draws(tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path / "m.csv", items=40, blanks=0.1)
    out, draws = tmp_path / "new" / "out", tmp_path / "draws.npz"
    result = run(matrix, "--n-trials", 3, "--output-dir", out, "--save-draws", draws, "--seed", 3, *QUICK)
    assert result.returncode == 0, result.stderr
    assert (
        result.stdout.splitlines()[-1] == f"Wrote difficulty.csv, ability.csv and diagnostics.json to {out}"
    )

    difficulty, ability = rows(out / "difficulty.csv"), rows(out / "ability.csv")
    assert list(difficulty[0]) == ["item", "b_mean", "b_sd", "r_hat", "ess_bulk"]
    assert list(ability[0]) == ["model", "theta_mean", "theta_sd", "r_hat", "ess_bulk"]
    assert [row["item"] for row in difficulty] == [f"q{i}" for i in range(40)]
    assert [row["model"] for row in ability] == [f"model,{m}" for m in range(5)]

    diagnostics = json.loads((out / "diagnostics.json").read_text(encoding="utf-8"))
    assert diagnostics["schema_version"] == 1
    assert diagnostics["max_r_hat"] == max(float(row["r_hat"]) for row in difficulty + ability)
    assert diagnostics["divergences"] == 0
    assert diagnostics["sampling"] == {
        "method": "marginal",
        "guessing": [0.0],
        "chains": 2,
        "tune": 200,
        "draws": 200,
        "target_accept": 0.95,
        "seed": 3,
        "cores": min(2, available_cpus()),
    }
    sha256 = hashlib.sha256(matrix.read_bytes()).hexdigest()
    assert diagnostics["inputs"] == {"matrix": {"file": "m.csv", "sha256": sha256}}
    assert diagnostics["blank_cells"] > 0 and set(diagnostics["versions"]) >= {"python", "pymc", "nutpie"}

    with np.load(draws) as saved:
        assert saved["theta"].shape == (2, 200, 5) and saved["b"].shape == (2, 200, 40)
        assert saved["models"].tolist() == [f"model,{m}" for m in range(5)]
        spread = saved["b"].std(axis=(0, 1))
        means = np.array([float(row["b_mean"]) for row in difficulty])
        assert (np.abs(saved["b"].mean(axis=(0, 1)) - means) < 6 * spread / np.sqrt(200)).all()
        np.testing.assert_allclose([float(row["b_sd"]) for row in difficulty], spread, rtol=0.3)


def test_unequal_trials_and_guessing_files_change_the_fit(tmp_path: Path, run_here: Run) -> None:
    matrix = write_matrix(tmp_path / "m.csv")
    trials = tmp_path / "t.csv"
    header, *body = matrix.read_text(encoding="utf-8").splitlines()
    trials.write_text("\n".join([header, *(line.rsplit('"', 1)[0] + '"' + ",6" * 9 for line in body)]))
    guessing = tmp_path / "g.csv"
    guessing.write_text("item_id,guessing\n" + "".join(f"q{i},{i / 20}\n" for i in range(9)))
    more = run_here(
        matrix, "--trials-csv", trials, "--guessing-csv", guessing, "--output-dir", tmp_path, *QUICK
    )
    assert more.returncode == 0, more.stderr
    diagnostics = json.loads((tmp_path / "diagnostics.json").read_text(encoding="utf-8"))
    assert set(diagnostics["inputs"]) == {"matrix", "trials", "guessing"}
    assert diagnostics["trials_per_cell"] == [6]
    assert diagnostics["sampling"]["guessing"] == [i / 20 for i in range(9)]
    assert min(float(row["b_mean"]) for row in rows(tmp_path / "difficulty.csv")) > -1.5


def test_what_cannot_be_assessed_warns_and_fails_only_under_strict(tmp_path: Path, run_here: Run) -> None:
    matrix = write_matrix(tmp_path / "m.csv")
    one_chain = [matrix, "--n-trials", 3, "--chains", 1, "--tune", 100, "--draws", 50]
    loose = run_here(*one_chain, "--output-dir", tmp_path / "loose")
    strict = run_here(*one_chain, "--output-dir", tmp_path / "strict", "--strict")
    assert (loose.returncode, strict.returncode) == (0, 1)
    for result, folder in ((loose, "loose"), (strict, "strict")):
        assert "warning: R-hat cannot be assessed" in result.stderr
        diagnostics = json.loads((tmp_path / folder / "diagnostics.json").read_text(encoding="utf-8"))
        assert diagnostics["max_r_hat"] is None and len(diagnostics["warnings"]) >= 1
        assert {row["r_hat"] for row in rows(tmp_path / folder / "difficulty.csv")} == {""}


def test_a_sampler_that_never_moved_still_leaves_its_files_and_says_so(tmp_path: Path, run_here: Run) -> None:
    """One warm-up draw: every transition is refused, and R-hat of chains that stand still is infinite."""
    matrix = write_matrix(tmp_path / "m.csv", models=12, items=300)
    result = run_here(
        matrix, "--n-trials", 3, "--output-dir", tmp_path, "--method", "joint", "--tune", 1, "--draws", 4
    )
    assert result.returncode == 0 and "warning: " in result.stderr, result.stderr
    json.loads((tmp_path / "diagnostics.json").read_text(encoding="utf-8"))


def test_constant_items_are_listed(tmp_path: Path, run_here: Run) -> None:
    (tmp_path / "m.csv").write_text("model,easy,q1,hard\na,2,1,0\nb,2,0,0\nc,2,2,0\n")
    # And a link that an output is stays one.
    (tmp_path / "kept.json").write_text("old")
    (tmp_path / "diagnostics.json").symlink_to("kept.json")
    result = run_here(tmp_path / "m.csv", "--n-trials", 2, "--output-dir", tmp_path, *QUICK)
    assert (tmp_path / "diagnostics.json").is_symlink() and (tmp_path / "kept.json").read_text() != "old"
    assert "all right: 1 of 3 items" in result.stdout and "all wrong: 1 of 3 items" in result.stdout
    diagnostics = json.loads((tmp_path / "diagnostics.json").read_text(encoding="utf-8"))
    assert diagnostics["constant_items"] == {"all_right": ["easy"], "all_wrong": ["hard"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv", "--n-trials", "3"], "missing.csv: No such file or directory"),
        (["m.csv", "--n-trials", "2"], "expected 0 to 2"),
        (["m.csv"], "one of the arguments --n-trials --trials-csv is required"),
        (["m.csv", "--n-trials", "0"], "must be a whole number from 1 to 999999, found '0'"),
        (["m.csv", "--n-trials", "two"], "must be a whole number from 1 to 999999, found 'two'"),
        (["m.csv", "--n-trials", "3", "--trials-csv", "m.csv"], "not allowed with"),
        (["m.csv", "--n-trials", "3", "--guessing", "1"], "must be a number from 0 to below 1, found '1'"),
        (
            ["m.csv", "--n-trials", "3", "--guessing", "abc"],
            "must be a number from 0 to below 1, found 'abc'",
        ),
        (["m.csv", "--n-trials", "3", "--guessing", "0.1", "--guessing-csv", "g.csv"], "not allowed with"),
        (["m.csv", "--n-trials", "3", "--guessing-csv", "g.csv"], "g.csv: No such file"),
        (["m.csv", "--n-trials", "3", "--target-accept", "1"], "must be a number above 0 and below 1"),
        (["m.csv", "--n-trials", "3", "--draws", "3"], "must be a whole number from 4 to 999999"),
        (["m.csv", "--n-trials", "3", "--method", "gibbs"], "invalid choice"),
        (["m.csv", "--n-trials", "3", "--save-draws", "d.csv"], "must end in .npz"),
        (
            ["m.csv", "--n-trials", "3", "--output-dir", "m.csv"],
            "m.csv: is a file, not a folder; choose another",
        ),
        (
            ["log.csv", "--n-trials", "3"],
            "log.csv:1: this is a response log, one answer a row (columns model, item_id",
        ),
        (["m.csv", "--n-trials", "3", "--output-dir", "taken"], "difficulty.csv: is a folder or a device"),
        (["m.csv", "--n-trials", "9" * 30], "must be a whole number from 1 to 999999"),
        (["m.csv", "--n-trials", "1_0"], "must be a whole number from 1 to 999999"),
        (["m.csv", "--n-trials", "３"], "must be a whole number from 1 to 999999"),
        (["m.csv", "--n-trials", "3", "--seed", "4294967296"], "from 0 to 4294967295"),
        (
            ["difficulty.csv", "--n-trials", "3", "--output-dir", "."],
            "difficulty.csv is an input and would be overwritten",
        ),
    ],
)
def test_mistakes_are_one_line_before_anything_heavy(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    """-X importtime lists every import on standard error: numpy and PyMC must not be among them."""
    write_matrix(tmp_path / "m.csv")
    write_matrix(tmp_path / "difficulty.csv")
    (tmp_path / "log.csv").write_text("model,item_id,trial,correct\na,q0,1,1\n")
    (tmp_path / "taken" / "difficulty.csv").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    output = [] if "--output-dir" in arguments else ["--output-dir", "out"]
    command = [sys.executable, "-X", "importtime", str(SCRIPT), *arguments, *output]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 2
    imports = [line for line in result.stderr.splitlines() if line.startswith("import time:")]
    said = [line for line in result.stderr.splitlines() if line not in imports]
    assert "Traceback" not in result.stderr and message in said[-1]
    packages = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in imports}
    assert not packages & {"numpy", "scipy", "pandas", "numba", "pytensor", "pymc", "nutpie", "arviz", "rich"}
    assert sorted(tmp_path.rglob("*")) == before
    assert len(said) == 1


@pytest.mark.parametrize("name", ["trials.csv", "trials.csv.gz", "m.trials.csv", "m.trials.csv.gz"])
def test_missing_trials_are_not_taken_for_wrong_answers(tmp_path: Path, name: str) -> None:
    matrix = write_matrix(tmp_path / "m.csv")
    (tmp_path / name).write_text("model\n")
    result = run(matrix, "--n-trials", 3, "--output-dir", tmp_path / "out")
    assert result.returncode == 2 and f"use --trials-csv {tmp_path / name}, or remove it" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_guessing_file_beside_the_matrix_is_not_overlooked(tmp_path: Path, run_here: Run) -> None:
    matrix, beside = write_matrix(tmp_path / "m.csv"), tmp_path / "guessing.csv"
    beside.write_text("item_id,guessing\n" + "".join(f"q{i},0.25\n" for i in range(9)))
    result = run(matrix, "--n-trials", 3, "--output-dir", tmp_path / "out")
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
    assert f"use --guessing-csv {beside}, or --guessing 0 if it belongs to another" in result.stderr
    assert not (tmp_path / "out").exists()
    result = run_here(matrix, "--n-trials", 3, "--output-dir", tmp_path / "out", "--guessing", 0, *QUICK)
    assert result.returncode == 0, result.stderr
    diagnostics = json.loads((tmp_path / "out" / "diagnostics.json").read_text(encoding="utf-8"))
    assert diagnostics["sampling"]["guessing"] == [0.0] and set(diagnostics["inputs"]) == {"matrix"}


def test_a_missing_package_is_one_line(tmp_path: Path) -> None:
    result = run(
        write_matrix(tmp_path / "m.csv"), "--n-trials", 3, "--output-dir", tmp_path, python_options=("-S",)
    )
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1 and "requirements_irt.txt" in result.stderr


def test_answers_that_nothing_connects_are_warned_of(tmp_path: Path, run_here: Run) -> None:
    """Two halves without a common model or item are on one scale by the prior alone."""
    (tmp_path / "m.csv").write_text("model,q0,q1,q2,q3\na,1,2,,\nb,2,0,,\nc,,,1,0\nd,,,2,1\n")
    result = run_here(tmp_path / "m.csv", "--n-trials", 2, "--output-dir", tmp_path, *QUICK)
    assert "warning: the answers fall into 2 groups without a model or item in common" in result.stderr
    assert "2 of 4 models and 2 of 4 items" in result.stderr


def test_ctrl_c_leaves_no_file_and_no_process(tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path / "m.csv", models=20, items=60)
    command = [
        sys.executable,
        str(SCRIPT),
        str(matrix),
        "--n-trials",
        "3",
        "--output-dir",
        str(tmp_path / "out"),
    ]
    command += ["--method", "joint", "--draws", "100000", "--chains", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=allow_interrupts)
    assert process.stderr is not None
    assert "compiling" in process.stderr.readline()
    # Sampling has started once the plain progress line has appeared.
    assert "sampling" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[1]  # nowhere near the hours that the draws would take
    assert process.returncode == 130, rest
    assert "Traceback" not in rest and "interrupted" in rest
    assert [path.name for path in tmp_path.rglob("*")] == ["m.csv"]
