"""A server to ask, for the scripts beside this one."""

import contextlib
import subprocess
import time
import urllib.error
import urllib.request


def wait_until_ready(url, seconds=120):
    until = time.monotonic() + seconds
    while True:
        try:
            return urllib.request.urlopen(f"{url}/health", timeout=10).close()
        except urllib.error.HTTPError as loading:
            if loading.code != 503 or time.monotonic() > until:
                raise
        time.sleep(0.1)


@contextlib.contextmanager
def started(program, *options):
    """The URL of a server that runs, its models loaded, until the block ends: then it must end well."""
    command = [program, "serve", "--port", "0", "-q", *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        assert url, f"{' '.join(command)} says no URL"
        wait_until_ready(url)
        yield url
    finally:
        process.terminate()
        code = process.wait(timeout=60)
    assert code == 0, f"the server ended with {code}"
