#!/usr/bin/env python3
"""tools/make_samples.py [FOLDER]: draws samples/ anew, all but its texts: in about a minute, with
the standard library alone. The same Python and zlib give the same bytes."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent / "samples"))

import clip  # noqa: E402
import entities  # noqa: E402
import files  # noqa: E402
import motion  # noqa: E402
import pictures  # noqa: E402
import speech  # noqa: E402


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(path)


def main():
    root = Path(__file__).resolve().parent.parent / "samples"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else root
    for name, picture in pictures.pictures():
        write(folder / "pictures" / f"{name}.png", files.png(picture))
    for name, frames, flow in motion.pairs():
        for i, frame in enumerate(frames, 1):
            write(folder / "flow" / name / f"frame{i}.png", files.png(frame))
        write(folder / "flow" / name / "truth" / "frame1.png", files.kitti_flow(flow))
    drawn = [files.png(frame) for frame in clip.frames()]
    sound = clip.clip_sound()
    write(folder / "clip.avi", files.avi(drawn, clip.FRAMES_PER_SECOND, sound, clip.RATE))
    write(folder / "sound.wav", files.wav(clip.tune(), clip.RATE))
    for name, samples in speech.digits():
        write(folder / "digits" / f"{name}.wav", files.wav(samples, speech.RATE))
    write(folder / "entities.jsonl", entities.state().encode())


if __name__ == "__main__":
    main()
