"""Measures `perceiver serve` beside transformers behind FastAPI and uvicorn (peer.py), with the same weights.

The same client asks both in turns: POST /v1/embeddings of a text, by so many at a time, each on a connection
that stays. A row of the table has the requests a second, and the middle and the 95th percentile of the times.
"""

import argparse
import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time

from started import started, wait_until_ready

TEXT = ("It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of "
        "foolishness, it was the epoch of belief, it was the epoch of incredulity. ")


@contextlib.contextmanager
def peer(python, model, port, threads):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
    script = os.path.join(os.path.dirname(__file__), "peer.py")
    process = subprocess.Popen([python, "-B", script, model, "--port", str(port), "--threads", str(threads)],
                               env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                wait_until_ready(url)
                break
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def embedding(link, body):
    link.request("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
    response = link.getresponse()
    content = response.read()
    assert response.status == 200, (response.status, content[:200])
    return json.loads(content)["data"][0]["embedding"]


def measure(url, body, clients, seconds):
    """-> seconds of each request, and all of them together"""
    times, until = [], time.monotonic() + seconds

    def client():
        link = http.client.HTTPConnection(url.removeprefix("http://"), timeout=300)
        while time.monotonic() < until:
            start = time.monotonic()
            embedding(link, body)
            times.append(time.monotonic() - start)
        link.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a folder that transformers and the program both load")
    parser.add_argument("--program", default="build/perceiver")
    parser.add_argument("--python", default=sys.executable, help="one with transformers, FastAPI and uvicorn")
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 4, 16])
    parser.add_argument("--seconds", type=float, default=20.0, help="of each turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bytes", type=int, default=2048, help="of the text")
    parser.add_argument("--port", type=int, default=18765, help="of the peer")
    args = parser.parse_args()
    text = (TEXT * (args.bytes // len(TEXT) + 1))[:args.bytes]
    body = json.dumps({"input": text})
    with started(args.program, "-m", args.model, "--threads", args.threads) as ours, \
            peer(args.python, args.model, args.port, args.threads) as theirs:
        first = [embedding(http.client.HTTPConnection(url.removeprefix("http://"), timeout=300), body)
                 for url in (ours, theirs)]
        apart = max(abs(a - b) for a, b in zip(*first))
        assert len(first[0]) == len(first[1]) and apart < 1e-3, apart
        print(f"largest difference of the two embeddings: {apart:.2g}\n")
        print("| clients | ours, a second | peer, a second | ratio | ours, ms (95 %) | peer, ms (95 %) |")
        print("|---|---|---|---|---|---|")
        for clients in args.clients:
            rates, times = {ours: [], theirs: []}, {ours: [], theirs: []}
            for _ in range(args.turns):
                for url in (ours, theirs):
                    done, spent = measure(url, body, clients, args.seconds)
                    rates[url].append(len(done) / spent)
                    times[url] += done
            rate = {url: statistics.median(rates[url]) for url in rates}
            ratio = statistics.median(a / b for a, b in zip(rates[ours], rates[theirs]))
            spans = [f"{1e3 * statistics.median(times[url]):.0f} "
                     f"({1e3 * sorted(times[url])[int(0.95 * len(times[url]))]:.0f})" for url in (ours, theirs)]
            print(f"| {clients} | {rate[ours]:.2f} | {rate[theirs]:.2f} | {ratio:.2f} | {spans[0]} | {spans[1]} |",
                  flush=True)


if __name__ == "__main__":
    main()
