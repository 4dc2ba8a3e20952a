#!/usr/bin/env python3
"""tools/everyday_sentences.py [PROGRAM] [MODEL]: has the shipped language model fill the sentences
of tests/everyday_sentences.tsv and writes its words beside them, where a test looks for them."""

import json
import subprocess
import sys
from pathlib import Path


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/perceiver"
    model = sys.argv[2] if len(sys.argv) > 2 else "language-mini"
    path = Path(__file__).resolve().parent.parent / "tests" / "everyday_sentences.tsv"
    sentences = [line.split("\t")[0] for line in path.read_text().splitlines()]
    filled = subprocess.run(
        [program, "fill", "-q", "--jsonl", "-k", "1", "--device", "cpu", "-m", model],
        input="\n".join(sentences) + "\n",
        check=True,
        capture_output=True,
        text=True,
    )
    words = [json.loads(line)["masks"][0]["word"] for line in filled.stdout.splitlines()]
    path.write_text("".join(f"{s}\t{w}\n" for s, w in zip(sentences, words, strict=True)))
    for sentence, word in zip(sentences, words):
        print(sentence.replace("[MASK]", f"[{word}]"))


if __name__ == "__main__":
    main()
