"""tools/ngram.py on texts so short that every number is worked out by hand. Run from the root of
the sources; exits 77, skipped, where there is no numpy."""

import json
import math
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
sys.dont_write_bytecode = True
try:
    import numpy as np
except ImportError:
    print("skipped: no numpy for this Python")
    sys.exit(77)
import ngram

A, B = ord("a"), ord("b")

# "aabab" has the pairs aa, ab, ab, ba: two once, one twice: the discount is 2 / (2 + 2 * 1) = 1/2.
# a was seen behind a and b, b behind a alone: that of single bytes is 1 / (1 + 2 * 1) = 1/3.
REST = (1 / 3) * 2 / 3 / 256  # of single bytes, for any of the 256
P_A, P_B = (2 - 1 / 3) / 3 + REST, (1 - 1 / 3) / 3 + REST
# After a came a once and b twice, after b came a once.
P_A_A, P_B_A = (1 - 1 / 2) / 3 + P_A / 3, (2 - 1 / 2) / 3 + P_B / 3
P_A_B, P_B_B = (1 - 1 / 2) / 1 + P_A / 2, P_B / 2


class PairsOfAabab(unittest.TestCase):
    def setUp(self):
        self.model = ngram.KneserNey(b"aabab", order=2)

    def left_side(self, text, masked, beam):
        before = ngram.forward(self.model, text, masked, beam)
        return ngram.bits_left_side(self.model, before, text, masked)

    def test_probabilities_are_those_worked_out_by_hand(self):
        after_a, after_b = self.model.distribution(256 + A), self.model.distribution(256 + B)
        self.assertAlmostEqual(self.model.distribution(1)[A], P_A, 12)
        self.assertAlmostEqual(after_a[A], P_A_A, 12)
        self.assertAlmostEqual(after_a[B], P_B_A, 12)
        self.assertAlmostEqual(after_b[A], P_A_B, 12)
        self.assertAlmostEqual(after_b[B], P_B_B, 12)
        self.assertAlmostEqual(after_a.sum(), 1.0, 12)

    def test_an_unseen_context_says_what_a_shorter_one_does(self):
        self.assertAlmostEqual(self.model.distribution(256 + ord("z"))[A], P_A, 12)

    def test_told_what_is_left_a_byte_is_scored_behind_the_true_one(self):
        text, masked = np.array([A, B, A]), np.array([False, True, True])
        bits = ngram.bits_told(self.model, text, masked)
        self.assertAlmostEqual(bits[0], -math.log2(P_B_A), 9)
        self.assertAlmostEqual(bits[1], -math.log2(P_A_B), 9)

    def test_an_unknown_byte_is_summed_out(self):
        text, masked = np.array([A, B, A]), np.array([False, True, True])
        bits = self.left_side(text, masked, beam=256)
        other = 1 - P_A_A - P_B_A
        self.assertAlmostEqual(bits[0], -math.log2(P_B_A), 9)
        self.assertAlmostEqual(bits[1], -math.log2(P_A_A * P_A_A + P_B_A * P_A_B + other * P_A), 9)

    def test_a_byte_that_is_seen_tells_of_the_unknown_one_before_it(self):
        text, masked = np.array([A, B, A, B]), np.array([False, True, False, True])
        bits = self.left_side(text, masked, beam=256)
        self.assertAlmostEqual(bits[1], -math.log2(P_B_A), 9)  # the a before it is seen

    def test_what_stands_to_the_right_counts_where_it_is_asked_for(self):
        text, masked = np.array([A, B, A]), np.array([False, True, False])
        before = ngram.forward(self.model, text, masked, beam=256)
        bits = ngram.bits_both_sides(self.model, before, text, masked)
        other = (1 - P_A_A - P_B_A) * P_A
        right = P_B_A * P_A_B / (P_A_A * P_A_A + P_B_A * P_A_B + other)
        self.assertAlmostEqual(bits[0], -math.log2(right), 9)

    def test_a_context_outside_the_beam_counts_by_its_last_byte(self):
        contexts = np.array([0x1414243, 0x1414244, 0x1514244])  # ABC, ABD, QBD
        contexts, weights = ngram.merged(contexts, np.array([0.5, 0.2, 0.3]), beam=1)
        self.assertEqual(contexts.tolist(), [0x144, 0x1414243])
        np.testing.assert_allclose(weights, [0.5, 0.5])
        self.assertEqual(
            ngram.places_of(np.array([0x1414243, 0x1414244]), contexts).tolist(), [1, 0]
        )

    def test_contexts_grow_up_to_their_longest(self):
        grown = ngram.KneserNey(b"aabab", order=3).followed(np.array([1, 0x141, 0x14142]), 0x43)
        self.assertEqual(grown.tolist(), [0x143, 0x14143, 0x14243])


class Files(unittest.TestCase):
    def test_documents_are_lines_without_the_space_behind_them(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "b.txt").write_bytes(b" one \r\n\n\ttwo\n")
            Path(folder, "a.jsonl").write_bytes(b'{"text": "zero"}\n')
            Path(folder, "c.md").write_bytes(b"not this\n")
            self.assertEqual(ngram.documents_of([folder]), [b"zero", b" one", b"\ttwo"])

    def test_examples_have_the_true_bytes_in_place(self):
        arrays = {
            "0.ids": np.array([[A + 6, 3, 3, 0]]),
            "0.mask": np.array([[True, True, True, False]]),
            "0.positions": np.array([[1, 2, 0]]),
            "0.targets": np.array([[B + 6, A + 6, -100]]),
            "0.measure.bits_per_byte": np.array([5.0, 2.0]),
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "measured.safetensors")
            header, data = {}, b""
            for name, array in arrays.items():
                dtype = {"int64": "I64", "bool": "BOOL", "float64": "F64"}[str(array.dtype)]
                ends = [len(data), len(data) + array.nbytes]
                header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": ends}
                data += array.tobytes()
            text = json.dumps(header).encode()
            path.write_bytes(struct.pack("<Q", len(text)) + text + data)
            examples, measures = ngram.read_examples(ngram.read_safetensors(path))
        self.assertEqual(examples[0][0].tolist(), [A, B, A])
        self.assertEqual(examples[0][1].tolist(), [False, True, True])
        self.assertEqual(measures.tolist(), [[5.0, 2.0]])

    def test_the_error_is_over_examples(self):
        value, error = ngram.ratio(np.array([2.0, 4.0]), np.array([1.0, 1.0]))
        self.assertEqual(value, 3.0)
        self.assertAlmostEqual(error, 1.0, 12)  # deviation sqrt(2), over sqrt(2)


if __name__ == "__main__":
    unittest.main()
