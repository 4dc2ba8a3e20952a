#!/usr/bin/env python3
"""tools/word_list.py FILE…: the words of these texts, for the words.txt of a language model: those in
at least a tenth of the files. Short ones must be in four fifths of them: dialect and initials leave
as many words of one or two letters as there are pairs of letters."""

import re
import sys
from collections import Counter
from pathlib import Path

LONGEST = 15  # bytes that `perceiver fill` tries after a space
WORD = re.compile(r"(?<= )[\"'(“‘]?([^\W\d_](?:[\w'’-]*[^\W\d_])?)(?=[\s.,;:?!\"')”’]|$)", re.MULTILINE)


def main():
    files = [Path(name) for name in sys.argv[1:]]
    holding = Counter()
    for file in files:
        holding.update({m.group(1) for m in WORD.finditer(file.read_text(errors="replace"))})
    for word, count in sorted(holding.items()):
        share = 0.8 if len(word) <= 2 else 0.1
        if count >= share * len(files) and len(word.encode()) <= LONGEST:
            print(word)


if __name__ == "__main__":
    main()
