"""A server that answers every chat completion after a fixed time with the same text, as cheaply as Python can.

It measures clients, so it does nothing else: no routes, no checks. It prints its URL when it listens.

Examples:
  python perf/answering_server.py 0.05     # after 50 ms
  python perf/answering_server.py 0
"""

from __future__ import annotations

import argparse
import asyncio
import json

TEXT = "Both ends meet at the middle, so the sum is 4.\n" * 20 + "ANSWER: A"
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "served",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 300, "total_tokens": 400},
}
BODY = json.dumps(COMPLETION).encode()
RESPONSE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
)


class Answering(asyncio.Protocol):
    """One connection; requests come one after the other, each whole before the next."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, separator, body = self.received.partition(b"\r\n\r\n")
        if not separator:
            return
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if lengths and len(body) < int(lengths[0].partition(b":")[2]):
            return
        self.received = b""
        asyncio.get_running_loop().call_later(self.seconds, self.transport.write, RESPONSE)


async def serve(seconds: float) -> None:
    """Serve until the process is ended."""
    server = await asyncio.get_running_loop().create_server(
        lambda: Answering(seconds), "127.0.0.1", 0, backlog=1024
    )
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seconds", type=float, help="from a request to its answer")
    asyncio.run(serve(parser.parse_args().seconds))
