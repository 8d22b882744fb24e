"""A stand-in for the Hugging Face Hub and for raw.githubusercontent.com: real HTTP on the loopback interface.

It speaks what huggingface_hub asks of the Hub for one file of a data set: HEAD and GET of
/datasets/REPOSITORY/resolve/REVISION/FILE with ETag, X-Repo-Commit and Content-Length, and for large files (parquet
here) a redirect to a second host, as the Hub has one for storage. /REPOSITORY/REVISION/FILE is GitHub's raw file.
It also makes files in each source's own format, with invented content.
"""

from __future__ import annotations

import hashlib
import io
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from verifier.pools.sources import Source

# What fault may be: "", gated, forbidden, broken, broken body, hang, cut, changed, other revision, no commit, slow.


class StandIn(ThreadingHTTPServer):
    """The server: what it holds, how it fails, and what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.fault = ""
        self.fails_first = 0  # this many requests are answered with 503, then all is well
        self.token: str | None = None
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def storage_url(self) -> str:
        """The same server under another name: a token must not go there."""
        return f"http://localhost:{self.server_address[1]}/storage"

    def hold(self, source: Source, contents: list[bytes]) -> None:
        """Serve a source's files where its home has them."""
        for file, content in zip(source.files, contents, strict=True):
            if source.home == "hub":
                self.files[f"/datasets/{source.repository}/resolve/{source.revision}/{file}"] = content
            else:
                self.files[f"/{source.repository}/{source.revision}/{file}"] = content

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up: they are killed and time out here on purpose."""


@contextmanager
def stand_in() -> Iterator[StandIn]:
    with StandIn() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def log_message(self, format: str, *args: object) -> None:
        """Leave the test's output alone."""

    def answer(self, *, body: bool) -> None:
        hub = self.server
        if self.path.startswith("/api/"):  # a list that huggingface_hub would like to have, and does without
            return self.plain(404)
        hub.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
        if hub.fault == "hang":
            time.sleep(20)
            self.close_connection = True
            return
        if hub.fails_first > 0:
            hub.fails_first -= 1
            return self.plain(503)
        stored = self.path.startswith("/storage")
        path = self.path.removeprefix("/storage")
        if hub.fault == "broken" or (hub.fault == "broken body" and body):
            return self.plain(500)
        if hub.fault == "forbidden":
            return self.plain(403)
        if hub.fault == "gated" or (
            hub.token and not stored and self.headers.get("Authorization") != f"Bearer {hub.token}"
        ):
            return self.plain(401, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted."})
        if path not in hub.files:
            known = {name.partition("/resolve/")[0] for name in hub.files}
            revisions = {name.partition("/resolve/")[2].partition("/")[0] for name in hub.files}
            repository, _, rest = path.partition("/resolve/")
            if repository not in known:
                return self.plain(404, {"X-Error-Code": "RepoNotFound"})
            missing = "EntryNotFound" if rest.partition("/")[0] in revisions else "RevisionNotFound"
            return self.plain(404, {"X-Error-Code": missing})
        self.send_file(path, hub.files[path], stored=stored, body=body)

    def send_file(self, path: str, content: bytes, *, stored: bool, body: bool) -> None:
        hub = self.server
        if not path.startswith("/datasets/"):
            return self.content(200, content, {}, body=body)
        revision = path.partition("/resolve/")[2].partition("/")[0]
        headers = {"X-Repo-Commit": "f" * 40 if hub.fault == "other revision" else revision}
        if hub.fault == "no commit":
            headers = {}
        if path.endswith(".parquet"):
            sha256 = hashlib.sha256(content).hexdigest()
            if not stored:
                location = hub.storage_url + path
                linked = {"X-Linked-Etag": f'"{sha256}"', "X-Linked-Size": str(len(content))}
                return self.content(302, b"", headers | linked | {"Location": location}, body=False)
            headers["ETag"] = f'"{sha256}"'
        else:
            headers["ETag"] = f'"{hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()}"'
        self.content(200, content, headers, body=body)

    def plain(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.content(status, b"", headers or {}, body=True)

    def content(self, status: int, content: bytes, headers: dict[str, str], *, body: bool) -> None:
        hub = self.server
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        if hub.fault == "cut":
            self.send_header("Connection", "close")
        self.end_headers()
        if not body:
            return
        if hub.fault == "changed":
            content = content[::-1]
        if hub.fault == "cut":
            self.close_connection = True
            content = content[: len(content) // 2]
        if hub.fault == "slow":
            for start in range(0, len(content), 64):
                self.wfile.write(content[start : start + 64])
                time.sleep(0.2)
            return
        self.wfile.write(content)


# Invented files in the sources' own formats --------------------------------------------------------------------


def invented_files(source: Source) -> list[bytes]:
    """Return files as the source publishes them, one for each of ``source.files``, with as many items."""
    return FILES[source.layout](source)


def _jsonl(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def parquet(records: list[dict[str, Any]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), buffer)
    return buffer.getvalue()


def _aops(source: Source) -> list[bytes]:
    # In the order that sorting the addresses as texts gives, as the source has them.
    pages = sorted(
        f"2024_AIME_{contest}_Problems/Problem_{n}" for contest in ("I", "II") for n in range(1, 16)
    )
    records = [
        {
            "id": 60 + number,
            "problem": f"What is ${number}+{number}$?",
            "solution": "",
            "answer": f"{2 * number:03d}",
            "url": f"https://artofproblemsolving.com/wiki/index.php/{page}",
        }
        for number, page in enumerate(pages)
    ]
    return [_jsonl(records)]


def _matharena(source: Source) -> list[bytes]:
    records = [
        {"problem_idx": number, "problem": f"What is ${number}^2$?", "answer": number**2}
        for number in range(source.items, 0, -1)
    ]
    return [parquet(records)]


def _numbered(source: Source) -> list[bytes]:
    return [
        _jsonl(
            [
                {"id": number, "problem": f"Half of ${2 * number}$?", "answer": float(number)}
                for number in range(source.items)
            ]
        )
    ]


def _lines(source: Source) -> list[bytes]:
    return [
        _jsonl(
            [
                {"id": f"paper/{number:02d}Q", "question": f"Solve $x={number}$.", "answer": f"${number}$"}
                for number in range(source.items)
            ]
        )
    ]


def _bbh(source: Source) -> list[bytes]:
    def examples(task: str) -> list[dict[str, str]]:
        return [
            {
                "input": f"Three things, {task} {n}: which?\nOptions:\n(A) one {n}\n(B) two\n(C) three",
                "target": f"({'ABC'[n % 3]})",
            }
            for n in range(source.items // len(source.files))
        ]

    return [
        json.dumps({"canary": "invented", "examples": examples(file)}, indent=2).encode()
        for file in source.files
    ]


def _mmlu(source: Source) -> list[bytes]:
    sizes = {"college_biology": 144, "high_school_biology": 310}
    return [
        parquet(
            [
                {
                    "question": f"{subject}, question {n}?",
                    "subject": subject,
                    "choices": [f"w{n}", "x", "y", "z"],
                    "answer": n % 4,
                }
                for n in range(size)
            ]
        )
        for subject, size in sizes.items()
    ]


def _ifeval(source: Source) -> list[bytes]:
    keys = sorted(str(1000 + 3 * n) for n in range(source.items))
    return [
        _jsonl(
            [
                {
                    "key": int(key),
                    "prompt": f"Write about {key} without commas in at least 20 words.",
                    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
                    "kwargs": [{}, {"relation": "at least", "num_words": 20, "language": None}],
                }
                for key in keys
            ]
        )
    ]


FILES = {
    "aops": _aops,
    "matharena": _matharena,
    "numbered": _numbered,
    "lines": _lines,
    "bbh": _bbh,
    "mmlu": _mmlu,
    "ifeval": _ifeval,
}
