"""Clients that mean harm, or break: the server refuses them, stays in its memory, and answers /health meanwhile.

Also ten times the load that it can serve, and SIGTERM under load: what was accepted is answered.
"""

import argparse
import contextlib
import http.client
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from urllib.parse import urlsplit

from started import started, wait_until_ready

FILL = json.dumps({"text": "He [MASK] it.", "bytes": 4}).encode()


def request(path, body, headers=""):
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def connect(url, timeout=20):
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=timeout)


def answer_of(link):
    """Status, or None where the other side closed without one."""
    got = b""
    with contextlib.suppress(OSError):
        while b"\r\n\r\n" not in got:
            part = link.recv(65536)
            if not part:
                break
            got += part
    return int(got.split(b" ")[1]) if got.startswith(b"HTTP/1.1 ") else None


def ask(url, raw, timeout=20):
    with connect(url, timeout) as link:
        with contextlib.suppress(OSError):
            link.sendall(raw)
        return answer_of(link)


def png(width, height, data=b""):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def zeros(count):
    packer = zlib.compressobj(9)
    block = bytes(1 << 20)
    return b"".join([*(packer.compress(block) for _ in range(count >> 20)), packer.flush()])


class Watch:
    """Asks /health all the time -> the longest it took; and looks at the server's memory."""

    def __init__(self, url, pid):
        self.url, self.pid, self.longest, self.most, self.missed = url, pid, 0.0, 0, 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.over.wait(0.05):
            start = time.monotonic()
            with contextlib.suppress(OSError):
                if ask(self.url, b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 5) == 200:
                    self.longest = max(self.longest, time.monotonic() - start)
                    with open(f"/proc/{self.pid}/statm") as statm:
                        self.most = max(self.most, int(statm.read().split()[1]) * 4096 >> 20)
                    continue
            self.missed += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def lying_lengths(url):
    """A body shorter than it says ends in 408; one longer is read as it says, the rest is no request."""
    with connect(url) as link:
        link.sendall(request("/fill", FILL)[:-5])
        assert answer_of(link) == 408
    status = ask(url, b"POST /fill HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n")
    assert status == 400, status
    status = ask(url, request("/fill", b"{}", f"Content-Length: {1 << 62}\r\n"))
    assert status in (400, 413), status
    status = ask(url, b"POST /fill HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nab\r\n")
    assert status == 400, status


def too_much(url):
    huge = b"POST /classify HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\n"
    assert ask(url, huge + b"Content-Length: 999999999999\r\n\r\n") == 413
    chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    status = ask(url, huge + b"Transfer-Encoding: chunked\r\n\r\n" + 40 * chunk)
    assert status == 413, status
    assert ask(url, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + b"\r\n") == 431
    assert ask(url, b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n") in (400, 431)


def pictures(url):
    for body, what in ((png(50000, 50000), "50,000 x 50,000"), (png(20000, 20000, zeros(1 << 28)), "a bomb"),
                       (png(4000, 4000, zeros(1 << 20)), "one that ends early"), (png(0, 0), "none")):
        status = ask(url, b"POST /classify HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\n"
                          + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert status == 422, f"{what}: {status}"


def hostile_json(url):
    for body in (b"[" * 5_000_000, b'{"text":' * 200_000, b"[" + b"0," * 5_000_000 + b"0]", b'{"top": 1e999}',
                 b'{"text": "\xff\xfe"}', b'{"text": "a [MASK]", "top": 99999999999999999999}'):
        status = ask(url, request("/fill", body))
        assert status == 400, f"{body[:20]}: {status}"
    masks = json.dumps({"text": "[MASK] " * 100000}).encode()
    assert ask(url, request("/fill", masks)) == 422
    for shape in ([1, 1 << 40], [1 << 31, 1 << 31], [-1, 4], [1, 0]):
        body = json.dumps({"inputs": [{"name": "ids", "shape": shape, "datatype": "INT64", "data": [1]}]}).encode()
        status = ask(url, request("/v2/models/language-mini/infer", body))
        assert status == 400, f"{shape}: {status}"


def half_closed(url):
    with connect(url) as link:
        link.sendall(request("/fill", FILL))
        link.shutdown(socket.SHUT_WR)
        assert answer_of(link) == 200
    for _ in range(50):  # gone before the answer
        with connect(url) as link:
            link.sendall(request("/fill", FILL))
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def slow_clients(url):
    """Two hundred that send a byte now and then: others are answered, and they are told in the end."""
    links = [connect(url) for _ in range(200)]
    for i, link in enumerate(links):
        link.sendall(b"POST /fill HTTP/1.1\r\nHost: x\r\n" if i % 2 else request("/fill", FILL)[:-3])
    for _ in range(3):
        time.sleep(0.3)
        for link in links[::2]:
            with contextlib.suppress(OSError):
                link.sendall(b" ")
        start = time.monotonic()
        status = ask(url, b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
        assert status == 200 and time.monotonic() - start < 1.0
    statuses = {answer_of(link) for link in links}
    assert statuses <= {200, 400, 408, 429, None}, statuses
    for link in links:
        link.close()


def many_connections(url):
    """As many as this machine lets one program open, up to ten thousand; then one more is answered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 12000), hard))
    links = []
    with contextlib.suppress(OSError):
        for _ in range(min(10000, min(hard, 12000) - 200)):
            links.append(connect(url))
    assert ask(url, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n") == 200
    print(f"         {len(links)} connections")
    for link in links:
        link.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def send_load(url, seconds, clients, statuses):
    """Each asks again as soon as it was answered, on a connection that stays."""
    until = time.monotonic() + seconds
    parts = urlsplit(url)

    def client():
        link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        while time.monotonic() < until:
            try:
                link.request("POST", "/fill", FILL, {"Content-Type": "application/json"})
                response = link.getresponse()
                response.read()
                statuses.append(response.status)
                if response.status == 429:
                    time.sleep(0.01)
            except (ConnectionRefusedError, http.client.CannotSendRequest):
                statuses.append("refused")
                link.close()
                time.sleep(0.05)
            except http.client.RemoteDisconnected:
                statuses.append("closed")  # before anything was read: nothing was accepted
                link.close()
            except (OSError, http.client.HTTPException) as error:
                # A write or read on a connection that the server has ended; its log says what it answered.
                ended = isinstance(error, (ConnectionResetError, BrokenPipeError, ConnectionAbortedError))
                statuses.append("closed" if ended else type(error).__name__)
                link.close()
        link.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    return threads


def counted(url):
    text = ask_text(url, "/metrics")
    found = {}
    for line in text.splitlines():
        if line.startswith('perceiver_requests_total{route="/fill"'):
            found[int(line.split('code="')[1][:3])] = int(line.rsplit(" ", 1)[1])
    return found


def ask_text(url, path):
    parts = urlsplit(url)
    link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    link.request("GET", path)
    return link.getresponse().read().decode()


def ten_times_the_load(program, seconds):
    """Eighty clients for a queue of eight: each answer is 200 or 429, and the server counts the same."""
    with started(program, "-m", "language-mini", "--queue", 8, "--threads", 1) as url:
        statuses = []
        for thread in send_load(url, seconds, 80, statuses):
            thread.join()
        kinds = {status: statuses.count(status) for status in set(statuses)}
        assert set(kinds) == {200, 429}, kinds
        assert counted(url) == kinds, (counted(url), kinds)
        print(f"         {kinds[200]} answered, {kinds[429]} sent away, none lost")


def stopped_under_load(program):
    """Who was answered got a whole 200 or 429; the server's log of answers says the same, and it ends with 0."""
    command = [program, "serve", "--port", "0", "-m", "language-mini", "--queue", "8"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = process.stdout.readline().strip()
    log = []
    reader = threading.Thread(target=lambda: log.extend(process.stderr))
    reader.start()
    wait_until_ready(url)
    statuses = []
    threads = send_load(url, 6, 32, statuses)
    time.sleep(3)
    process.send_signal(signal.SIGTERM)
    code = process.wait(timeout=30)
    for thread in threads:
        thread.join()
    reader.join()
    answers = [json.loads(line) for line in log if line.startswith("{")]
    logged = sum(one.get("path") == "/fill" and one["status"] == 200 for one in answers)
    assert code == 0, code
    assert statuses.count(200) == logged, (statuses.count(200), logged)
    assert set(statuses) <= {200, 429, 503, "refused", "closed"}, set(statuses)
    print(f"         {logged} were accepted and answered")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/perceiver")
    parser.add_argument("--seconds", type=float, default=10.0, help="of too much load")
    args = parser.parse_args()
    failed = []

    def run(name, test, *arguments):
        try:
            test(*arguments)
            print(f"ok       {name}", flush=True)
        except Exception as error:  # the next one is to run all the same
            failed.append(name)
            print(f"FAILED   {name}: {type(error).__name__}: {error}", flush=True)

    # One megabyte of JSON may hold five million brackets: bodies are limited to 32 of them.
    options = ("--patience", 2, "--body-mib", 32, "--memory-mib", 128, "--connections", 12000)
    with started(args.program, *options) as url:
        pid = int(subprocess.run(["pgrep", "-n", "-f", f"{args.program} serve --port 0 -q --patience"],
                                 capture_output=True, text=True).stdout)
        ask(url, request("/fill", FILL))  # the first pass takes memory that stays
        with Watch(url, pid) as watch:
            for test in (lying_lengths, too_much, pictures, hostile_json, half_closed, slow_clients, many_connections):
                run(test.__name__, test, url)
        print(f"         /health took {1e3 * watch.longest:.0f} ms at most; the server {watch.most} MiB")
        if watch.missed:
            failed.append("health")
            print(f"FAILED   /health was not answered {watch.missed} times")
    run("ten_times_the_load", ten_times_the_load, args.program, args.seconds)
    run("stopped_under_load", stopped_under_load, args.program)
    return f"{len(failed)} failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
