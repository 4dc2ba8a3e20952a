"""Has schemathesis ask every route what its OpenAPI file allows, and what it does not, for a minute."""

import argparse
import subprocess
import sys
from pathlib import Path

from started import started

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance",
          "response_schema_conformance", "unsupported_method")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/perceiver")
    parser.add_argument("--seconds", default=60, type=int)
    args = parser.parse_args()
    schemathesis = Path(sys.executable).with_name("schemathesis")
    with started(args.program) as url:
        command = [schemathesis, "run", f"{url}/docs/openapi.json", "--checks", ",".join(CHECKS),
                   "--phases", "examples,coverage,fuzzing", "--max-time", str(args.seconds),
                   "--seed", "1", "--request-timeout", "60", "--no-color"]
        return subprocess.run(command, timeout=20 * args.seconds).returncode


if __name__ == "__main__":
    sys.exit(main())
