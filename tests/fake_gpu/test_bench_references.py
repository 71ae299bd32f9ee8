#!/usr/bin/env python3
"""bench_references.py without PyTorch: what it chooses, its turns and ratios; and libkprof_bench.so as
it calls it, on the fake GPU: contents, launches and references of every operator."""

import argparse
import ctypes
import os
import struct
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "profiler"))
import bench_references  # noqa: E402

HAVE_NVCC = os.environ.get("KPROF_HAVE_NVCC") == "ON"
BUILD = None
SHAPES = {"rmsnorm": "7x96", "add_rmsnorm": "3x100", "layernorm": "4x64", "silu_mul": "3x64",
          "gelu_mul": "3x7", "gelu": "9x64", "rope": "5x8", "softmax": "3x512",
          "linear_skinny": "3x70x256,e4m3", "attention_decode": "5x4x2x64x64,page=16,varied",
          "attention_prefill": "2x4x2x70x64,causal", "argmax": "5x1000",
          "topk_topp_sample": "6x1000"}


def script(*words):
    """In a Python that sees no installed packages."""
    return subprocess.run([sys.executable, "-I", "-S", bench_references.__file__, *words],
                          capture_output=True, text=True, timeout=200, check=False)


class Logic(unittest.TestCase):
    def test_choice(self):
        def names(operator, words):
            return [row[0] for row in bench_references.choose(operator, words)]
        self.assertEqual(names("rmsnorm", "torch"), ["eager"])
        self.assertEqual(names("softmax", "cudnn,compile,torch"), ["eager", "compile"])
        self.assertEqual(names("linear_skinny", "cublas,cudnn"), ["cublas"])
        for operator in ("attention_decode", "attention_prefill"):
            self.assertEqual(names(operator, "torch,cudnn"), ["flash", "efficient", "cudnn"])

    def test_refusals(self):
        for words, says in (
                (("gelu", "--against", "cudnn"), "gelu can be compared with compile and torch, not"),
                (("rope", "--against", "torch"), "rope can be compared with nothing"),
                (("gelu", "--against", "torch,jax"), "--against has no jax: torch, cudnn, cublas"),
                (("gelu", "--against", "torch,"), "--against has no empty word"),
                (("gelu", "--against", "torch", "--check"), "needs PyTorch, which .*KPROF_PYTHON"),
                # As kprof bench calls it: shapes behind the options.
                (("gelu", "--against", "torch", "--device", "0", "3x64", "5x8"), "needs PyTorch")):
            ran = script("library", *words)
            self.assertEqual((ran.returncode, ran.stdout), (3, ""))
            self.assertRegex(ran.stderr, f"^kprof: .*{says}.*\n$")

    def test_turns_and_back(self):
        """Any drift that is linear in time gives each the same mean."""
        order = bench_references.turns(["ours", "a", "b"])
        places = {name: [i for i, other in enumerate(order) if other == name] for name in order}
        self.assertEqual(len({sum(found) for found in places.values()}), 1)
        self.assertEqual({len(found) for found in places.values()}, {4})

    def test_ratios(self):
        self.assertEqual(bench_references.ratio_of([[2, 2, 9], [3], [4], [4]], [[1], [1], [1], [2]]),
                         {"median": 2.5, "least": 2, "most": 4})
        self.assertEqual(bench_references.times_of([[3, 1], [2]]),
                         {"median_us": 2, "least_us": 1, "most_us": 3})

    def test_nodes(self):
        self.assertEqual(len(bench_references.around([1, 2, 3], 10)), 21)
        self.assertEqual(len(bench_references.around([1] * 512, 10)), 512)
        self.assertEqual(len(bench_references.around([1, 2], 1 << 30)), 4)


class OnFake(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = bench_references.Library(os.path.join(BUILD, "libkprof_bench.so"))

    def host_buffers(self, work):
        """As filled() of the script has them, in host memory."""
        found = []
        for number, buffer in enumerate(work.buffers):
            raw = (ctypes.c_ubyte * (buffer.bytes + 16))(*[255] * (buffer.bytes + 16))
            if not buffer.is_output:
                pattern = (ctypes.c_ubyte * (buffer.fill_bytes + 1))()
                work.fill(number, ctypes.addressof(pattern))
                for at in range(0, buffer.bytes, buffer.fill_bytes):
                    ctypes.memmove(ctypes.addressof(raw) + at, pattern,
                                   min(buffer.fill_bytes, buffer.bytes - at))
            found.append(raw)
        return found

    def test_unknown(self):
        for name, shape in (("rmsnrom", "3x4"), ("rmsnorm", "3"), ("linear_skinny", "17x4x4")):
            self.assertFalse(self.library.function("create")(name.encode(), shape.encode(), 10))

    def test_sizes(self):
        work = bench_references.Work.create(self.library, "attention_decode",
                                            "5x4x2x64x96,page=16,varied,e4m3", 10)
        self.assertEqual([work.size(key) for key in (
            "batch", "q_heads", "kv_heads", "keys", "head_dim", "page_tokens", "varied", "narrow",
            "tokens")], [5, 4, 2, 64, 96, 16, 1, 3, 0])
        self.assertEqual((work.units, work.sample()), (5, [0, 1, 4]))
        self.assertEqual(work.some(2).units, 2)
        pages = self.host_buffers(work)[5]
        numbers = struct.unpack("<20i", bytes(pages)[:80])
        self.assertEqual(sorted(numbers), list(range(20)))
        self.assertNotEqual(numbers[0] + 1, numbers[1])

    @unittest.skipUnless(HAVE_NVCC, "built without nvcc")
    def test_launches(self):
        """Each operator on host memory, against its reference."""
        driver = ctypes.CDLL(os.path.join(BUILD, "tests/fake_gpu/cuda/libcuda.so.1"))
        context = ctypes.c_void_p()
        self.assertEqual(driver.cuInit(0), 0)
        self.assertEqual(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), 0)
        self.assertEqual(driver.cuCtxSetCurrent(context), 0)
        kernels = self.library.kernels()
        self.assertTrue(kernels)
        for operator, shape in SHAPES.items():
            with self.subTest(operator):
                work = bench_references.Work.create(self.library, operator, shape, 10)
                buffers = self.host_buffers(work)
                addresses = [ctypes.addressof(raw) // 16 * 16 + 16 for raw in buffers]
                for raw, address in zip(buffers, addresses):
                    ctypes.memmove(address, ctypes.addressof(raw),
                                   len(raw) - (address - ctypes.addressof(raw)))
                self.compare(work, kernels, addresses)

    def compare(self, work, kernels, addresses):
        checked = work.buffers[work.checked]
        count = checked.bytes // checked.element_bytes
        expected, slack = ((ctypes.c_double * count)() for _ in range(2))
        work.prepare(kernels, addresses)(None)
        if checked.element_bytes == 4:
            got = list((ctypes.c_int32 * count).from_address(addresses[work.checked]))
        else:
            words = (ctypes.c_uint16 * count).from_address(addresses[work.checked])
            got = [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]
        work.reference(addresses, ctypes.addressof(expected), ctypes.addressof(slack))
        for i in range(count):
            allowed = slack[i] + (abs(expected[i]) / 256 + 1e-30) * (checked.element_bytes == 2)
            self.assertLessEqual(abs(got[i] - expected[i]), allowed, (i, got[i], expected[i]))
        self.assertTrue(any(got))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    arguments, rest = parser.parse_known_args()
    BUILD = os.path.abspath(arguments.build)
    unittest.main(argv=[sys.argv[0], *rest])
