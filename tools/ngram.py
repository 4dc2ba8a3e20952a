#!/usr/bin/env python3
"""Bits per masked byte of a byte 5-gram, asked what a language model was asked.

    perceiver eval runs/language --data held_out/ eval.batch=1 -o measured.safetensors
    tools/ngram.py measured.safetensors --train texts/

The first command writes the examples it measured: texts, and which of their bytes were masked. The
second counts the 5-grams of the training texts (interpolated Kneser-Ney, one discount an order) and
scores the same masked bytes, in three ways:

  left side     masked bytes are unknown to the 5-gram too: they are summed out from left to right
                over the likeliest contexts (the rest by their last byte). What is right of a byte is not
                used.
  both sides    the same, and what is seen to the right counts as well: all that the model is told,
                but that masks cover whole words.
  told          every byte is scored knowing the true bytes before it, masked ones too. That is more
                than the model is told.

With eval.batch=1 the model's standard error is over examples, as the 5-gram's. Needs numpy.
"""

import argparse
import json
import math
import os
import struct
import sys
from pathlib import Path

import numpy as np

FIRST_BYTE = 6  # ids below it are special: perceiver/modalities/text.h
NO_TARGET = -100
DTYPES = {"I64": np.int64, "BOOL": np.bool_, "F64": np.float64, "F32": np.float32}


def read_safetensors(path):
    """The arrays of a file, by name."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    arrays = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        array = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays


def read_examples(arrays):
    """Texts with the true bytes in place and where they were masked; and the model's bits and bytes
    of each batch."""
    examples, measures = [], []
    batch = 0
    while f"{batch}.ids" in arrays:
        ids, there, positions, targets = (
            arrays[f"{batch}.{name}"] for name in ("ids", "mask", "positions", "targets")
        )
        for row in range(len(ids)):
            text, masked = ids[row].copy(), np.zeros(ids.shape[1], bool)
            real = targets[row] != NO_TARGET
            text[positions[row][real]] = targets[row][real]
            masked[positions[row][real]] = True
            text = text[there[row]] - FIRST_BYTE
            if text.min(initial=0) < 0 or text.max(initial=0) > 255:
                raise SystemExit("ngram: the examples are not of a byte model")
            examples.append((text, masked[there[row]]))
        measures.append(arrays[f"{batch}.measure.bits_per_byte"])
        batch += 1
    if not examples:
        raise SystemExit("ngram: no examples of a language model in the file")
    return examples, np.array(measures)


def files_of(path):
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = [p for p in path.rglob("*") if p.suffix in (".txt", ".jsonl") and p.is_file()]
    return sorted(files, key=lambda p: [os.fsencode(part) for part in p.parts])


def documents_of(paths):
    """As perceiver/data/documents.cpp has them: a line each, or the text of a line of JSON."""
    documents = []
    for path in paths:
        for file in files_of(path):
            for line in file.read_bytes().split(b"\n"):
                line = line.rstrip(b" \t\r")
                if line and file.suffix == ".jsonl":
                    line = json.loads(line)["text"].encode()
                if line:
                    documents.append(line)
    return documents


class KneserNey:
    """Interpolated Kneser-Ney: counts of the longest n-grams, below them the number of different
    bytes that an n-gram was seen behind."""

    def __init__(self, text, order=5):
        text = np.frombuffer(text, np.uint8).astype(np.int64)
        grams = np.zeros(len(text) - order + 1, np.int64)
        for i in range(order):
            grams = (grams << 8) | text[i : len(text) - order + 1 + i]
        self.longest = 1 << 8 * (order - 1)
        self.levels = [None] * (order + 1)  # of each order, as _level() has them
        codes, counts = np.unique(grams, return_counts=True)
        for n in range(order, 0, -1):
            self.levels[n] = self._level(codes, counts)
            codes, counts = np.unique(codes & ((1 << 8 * (n - 1)) - 1), return_counts=True)
        self.cache = {}

    @staticmethod
    def _level(codes, counts):
        contexts, begins = np.unique(codes >> 8, return_index=True)
        once, twice = np.sum(counts == 1), np.sum(counts == 2)
        discount = once / (once + 2 * twice) if once and twice else 0.5
        return contexts, np.append(begins, len(codes)), codes & 255, counts, float(discount)

    def distribution(self, context):
        """Probabilities [256] after a context: its bytes as a number, with a 1 before them."""
        if context not in self.cache:
            self.cache[context] = self._distribution(context)
        return self.cache[context]

    def _distribution(self, context):
        length = (context.bit_length() - 1) // 8
        code = context ^ (1 << 8 * length)
        contexts, begins, following, counts, discount = self.levels[length + 1]
        if length > 0:
            one = 1 << 8 * (length - 1)
            shorter = self.distribution((code & (one - 1)) | one)
        else:
            shorter = np.full(256, 1 / 256)
        i = np.searchsorted(contexts, code)
        if i == len(contexts) or contexts[i] != code:
            return shorter
        seen = slice(begins[i], begins[i + 1])
        total = counts[seen].sum()
        probabilities = shorter * (discount * (seen.stop - seen.start) / total)
        probabilities[following[seen]] += (counts[seen] - discount) / total
        return probabilities

    def distributions(self, contexts):
        return np.stack([self.distribution(context) for context in contexts.tolist()])

    def followed(self, contexts, byte):
        """The contexts with a byte behind them, as long as they count."""
        longer = (contexts << 8) | byte
        cut = (longer & (self.longest - 1)) | self.longest
        return np.where(longer >= self.longest << 8, cut, longer)


NOTHING = np.ones(1, np.int64)  # the context at the beginning of a text


def bits_told(model, text, masked):
    """Bits of each masked byte, knowing the bytes before it."""
    bits, context = [], NOTHING
    for byte, hidden in zip(text, masked):
        if hidden:
            bits.append(-math.log2(model.distribution(int(context[0]))[byte]))
        context = model.followed(context, byte)
    return bits


def last_byte(contexts):
    return (contexts & 255) | 256


def merged(contexts, weights, beam):
    """Each context once, in order; of more than `beam` the others by their last byte alone, so that
    nothing is lost. Their weights add up to 1."""
    if len(weights) > beam:
        others = np.argpartition(weights, -beam)[:-beam]
        contexts[others] = last_byte(contexts[others])
    contexts, which = np.unique(contexts, return_inverse=True)
    weights = np.bincount(which, weights)
    return contexts, weights / weights.sum()


ANY = np.arange(256)


def forward(model, text, masked, beam):
    """Before each byte, the contexts that may stand there, given what is seen left of it, and their
    probabilities."""
    contexts, weights = NOTHING, np.ones(1)
    before = []
    for byte, hidden in zip(text, masked):
        before.append((contexts, weights))
        rows = model.distributions(contexts)
        if hidden:
            contexts = model.followed(contexts[:, None], ANY).ravel()
            weights = (weights[:, None] * rows).ravel()
        else:
            contexts, weights = model.followed(contexts, byte), weights * rows[:, byte]
        contexts, weights = merged(contexts, weights, beam)
    return before + [(contexts, weights)]


def bits_left_side(model, before, text, masked):
    """Bits of each masked byte, knowing of the bytes before it those that are not masked."""
    bits = []
    for byte, hidden, (contexts, weights) in zip(text, masked, before):
        if hidden:
            bits.append(-math.log2(weights @ model.distributions(contexts)[:, byte]))
    return bits


def places_of(wanted, contexts):
    """Where each stands among the contexts that were kept, as it is or by its last byte."""
    at = np.minimum(np.searchsorted(contexts, wanted), len(contexts) - 1)
    short = np.minimum(np.searchsorted(contexts, last_byte(wanted)), len(contexts) - 1)
    return np.where(contexts[at] == wanted, at, short)


def bits_both_sides(model, before, text, masked):
    """Bits of each masked byte, knowing all that are not masked."""
    bits = []
    after = np.ones(len(before[-1][0]))  # of a context: how likely what is seen behind it is
    for i in range(len(text) - 1, -1, -1):
        contexts, weights = before[i]
        rows = model.distributions(contexts)
        if masked[i]:
            following = model.followed(contexts[:, None], ANY)
            rows = rows * after[places_of(following, before[i + 1][0])]
            joint = weights @ rows
            bits.append(-math.log2(joint[text[i]] / joint.sum()))
            after = rows.sum(1)
        else:
            following = model.followed(contexts, text[i])
            after = rows[:, text[i]] * after[places_of(following, before[i + 1][0])]
        after = after / after.max()
    return bits[::-1]


def bits_of(model, examples, beam):
    """The bits of each example: from the left side, from both sides, and told."""
    sums = []
    for text, masked in examples:
        before = forward(model, text, masked, beam)
        sums.append(
            (
                sum(bits_left_side(model, before, text, masked)),
                sum(bits_both_sides(model, before, text, masked)),
                sum(bits_told(model, text, masked)),
            )
        )
    return np.array(sums).T


def ratio(bits, num_bytes):
    """Bits a byte, and the standard error over the examples."""
    value = bits.sum() / num_bytes.sum()
    rest, count = bits - value * num_bytes, len(bits)
    error = math.sqrt((rest**2).sum() * count / max(count - 1, 1)) / num_bytes.sum()
    return value, error


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("examples", help="what `perceiver eval -o` wrote")
    parser.add_argument("--train", nargs="+", required=True, help="texts, files and folders")
    parser.add_argument(
        "--held-out-share",
        type=float,
        default=0.0,
        help="of --train, its last documents, which were measured on (data.held_out_share)",
    )
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument(
        "--beam", type=int, default=1000, help="contexts kept where bytes are unknown"
    )
    args = parser.parse_args()
    if not 2 <= args.order <= 7:
        parser.error("--order must be 2 to 7")

    examples, measures = read_examples(read_safetensors(args.examples))
    documents = documents_of(args.train)
    documents = documents[: math.ceil(len(documents) * (1 - args.held_out_share))]
    text = b"\n".join(documents)
    print(f"counting {len(text):,} bytes of {len(documents):,} documents", file=sys.stderr)
    model = KneserNey(text, args.order)

    num_bytes = np.array([masked.sum() for _, masked in examples])
    results = {"model": (measures[:, 0], measures[:, 1])}
    names = ("left side", "both sides", "told")
    for name, bits in zip(names, bits_of(model, examples, args.beam)):
        results[f"{args.order}-gram, {name}"] = (bits, num_bytes)
    print(f"{len(examples)} examples, {num_bytes.sum():,} masked bytes; bits a masked byte")
    for name, (bits, count) in results.items():
        print("  {:<20} {:.3f} +- {:.3f}".format(name, *ratio(bits, count)))


if __name__ == "__main__":
    main()
