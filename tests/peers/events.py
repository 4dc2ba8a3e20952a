"""Has TensorBoard read what `perceiver train` writes: its event file must say what metrics.jsonl does.

tools/peers.sh runs it with tensorboard installed.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

TINY = [
    "model.num_inputs=32",
    "model.encoder.num_latents=8",
    "model.encoder.self_attends_per_block=2",
    "train.steps=20",
    "train.batch=4",
    "train.log_every=1",
    "train.eval_every=10",
    "train.save_every=10",
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/perceiver")
    args, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        text, run = Path(folder, "text.txt"), Path(folder, "run")
        text.write_text("".join(f"a line that is number {i}\n" for i in range(300)))
        train = [args.program, "train", "-q"]
        config = "configs/language_bytes_mini.toml"
        subprocess.run([*train, config, "--data", text, "-o", run, *TINY], check=True)
        # A resumed run writes its events anew; nothing may stand there twice.
        subprocess.run([*train, "--resume", run, "train.steps=25"], check=True)

        accumulator = EventAccumulator(str(run))
        accumulator.Reload()
        read = {
            (tag, event.step): event.value
            for tag in accumulator.Tags()["scalars"]
            for event in accumulator.Scalars(tag)
        }
        expected = {}
        for line in Path(run, "metrics.jsonl").read_text().splitlines():
            line = json.loads(line)
            step, kind = line.pop("step"), line.pop("kind")
            line.pop("time")
            expected.update({(f"{kind}/{name}", step): value for name, value in line.items()})

    wrong = {key for key in expected.keys() | read.keys()
             if key not in expected or key not in read
             or not math.isclose(expected[key], read[key], rel_tol=1e-6)}  # events are float32
    if wrong or len(expected) < 25:
        print(f"FAILED  TensorBoard reads other figures: {sorted(wrong)[:5]} of {len(expected)}")
        return 1
    print(f"ok      TensorBoard reads a run's events{'':<29} {len(expected)} figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
