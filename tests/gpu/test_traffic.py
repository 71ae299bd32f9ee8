#!/usr/bin/env python3
"""What the checks of memory traffic accept and refuse, without a GPU."""

import unittest

import traffic
from runner import Failure

NCU = '''==PROF== words
"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Value"
"0","_Z1av","(128, 1, 1)","(4, 8, 1)","dram__bytes_read.sum","1,000"
"1","_Z1av","(128, 1, 1)","(4, 8, 1)","dram__bytes_read.sum","3,000"
"2","_Z1av","(128, 1, 1)","(4, 9, 1)","dram__bytes_read.sum","7"
'''


class Traffic(unittest.TestCase):
    def test_known_bytes_are_read_from_what_the_program_prints(self):
        text = "noise\nkernel 604 100 200 add-16MB\n"
        self.assertEqual(traffic.known_bytes(text), {604: (100.0, 200.0, "add-16MB")})

    def test_ncu_is_averaged_by_kernel_and_shape(self):
        self.assertEqual(traffic.ncu_reads(NCU), {("_Z1av", (4, 8, 1), (128, 1, 1)): 2000.0,
                                                  ("_Z1av", (4, 9, 1), (128, 1, 1)): 7.0})

    def test_near_and_covered_passes(self):
        rows = [("a", 10.1e6, 0.2e6, 10e6, 0.02)] * 9 + [("b", None, None, 1e6, 0.02)]
        self.assertIn("9 of 10 told, 9 covered", traffic.judge(rows))

    def test_far_off_fails(self):
        with self.assertRaisesRegex(Failure, "a 10.30 MB, is 10.00"):
            traffic.judge([("a", 10.3e6, 1e6, 10e6, 0.02)])

    def test_too_narrow_intervals_fail(self):
        with self.assertRaisesRegex(Failure, "cover 0 of 1"):
            traffic.judge([("a", 10.1e6, 0.01e6, 10e6, 0.02)])

    def test_silence_fails(self):
        with self.assertRaisesRegex(Failure, "0 of 1"):
            traffic.judge([("a", None, None, 10e6, 0.02)])

    def test_unattributed_fails(self):
        class Seen:
            document = {"gpus": [{"traffic": {key: {"sampled": 100, "unattributed": 3}
                                              for key in ("dram_read_bytes", "dram_write_bytes")}}]}
        with self.assertRaisesRegex(Failure, "unattributed"):
            traffic.check_unattributed(Seen)


if __name__ == "__main__":
    unittest.main()
