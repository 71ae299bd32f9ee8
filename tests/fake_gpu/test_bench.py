#!/usr/bin/env python3
"""kprof bench ceilings on the fake GPU: rates come out as the fake has them, wrong results are caught,
and what is kept is found again. Without nvcc there is no device code, and kprof says so.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

from harness import parse_json

HAVE_NVCC = os.environ.get("KPROF_HAVE_NVCC") == "ON"
BUILD = None
# What tests/fake_gpu/driver/emulate.c does in a second, and by which kernel; operations count two.
RATES = {
    "read_gbps": (430, "bulk copy engine"),
    "write_gbps": (400, "4 stores of 16 bytes a thread"),
    "copy_gbps": (390, "4 times 16 bytes a thread"),
    "fp64_tflops": (1.0, "fma"),
    "fp32_tflops": (2.0, "fma"),
    "tensor_fp64_tflops": (2.2, "mma m16n8k16"),
    "tensor_tf32_tflops": (16.0, "wgmma m64n256k8"),
    "tensor_fp16_tflops": (32.0, "wgmma m64n256k16"),
    "tensor_bf16_tflops": (33.0, "wgmma m64n256k16"),
    "tensor_fp8_tflops": (64.0, "wgmma m64n256k32"),
    "tensor_int8_tops": (66.0, "wgmma m64n256k32"),
}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kprof-bench-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.cache = os.path.join(self.folder, "cache")

    def bench(self, *words, faults="", driver=True, **variables):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("KP", "CUDA_", "LD_", "XDG_"))}
        # Graphs are timed, never looked at: computing their thousands of launches would take minutes.
        environment.update(XDG_CACHE_HOME=self.cache, KP_FAKE=f"graph_idle,{faults}".strip(","),
                           LC_ALL="C.UTF-8")
        environment.update(variables)
        if driver:
            environment["LD_LIBRARY_PATH"] = os.path.join(BUILD, "tests", "fake_gpu", "cuda")
        return subprocess.run([os.path.join(BUILD, "kprof"), "bench", *words], env=environment,
                              cwd=self.folder, capture_output=True, timeout=120, check=False)

    def refused(self, *words, says, **more):
        ran = self.bench(*words, **more)
        self.assertEqual((ran.returncode, ran.stdout), (125, b""), ran.stderr)
        self.assertRegex(ran.stderr.decode(), says)
        self.assertFalse(os.path.exists(os.path.join(self.cache, "kprof", "ceilings.yaml")))


class Bench(Case):
    def test_list(self):
        ran = self.bench(driver=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        self.assertRegex(ran.stdout.decode(), r"^ceilings +\w")

    def test_unknown(self):
        self.refused("cielings", says="did you mean ceilings")

    def test_no_driver(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a driver here")
        self.refused("ceilings", driver=False, says="install the NVIDIA driver")

    def test_driver_fails(self):
        self.refused("ceilings", faults="init_fail=100", says="cuInit fails with error 100")

    @unittest.skipIf(HAVE_NVCC, "built with nvcc")
    def test_without_nvcc(self):
        self.refused("ceilings", says="built without nvcc")


@unittest.skipUnless(HAVE_NVCC, "built without nvcc")
class Ceilings(Case):
    def test_rates(self):
        """Each ceiling is the best of its kernels, and the file holds what was printed."""
        # However busy the machine, the clocks are read once while the GPU is at work.
        ran = self.bench("ceilings", "--format", "json", faults="query_late=1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        document = parse_json(ran.stdout)
        self.assertEqual(document["schema"], "kprof.ceilings/v1")
        gpu, = document["gpus"]  # the second is of the same model
        self.assertEqual((gpu["name"], gpu["uuid"], gpu["sm_count"]),
                         ("Fake GPU", "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", 10))
        self.assertEqual(list(gpu["ceilings"]), list(RATES))
        for key, (rate, how) in RATES.items():
            ceiling = gpu["ceilings"][key]
            self.assertEqual(ceiling["how"], how)
            self.assertAlmostEqual(ceiling["value"], rate, delta=rate / 1000, msg=key)
            self.assertTrue(ceiling["low"] <= ceiling["value"] <= ceiling["high"])
            self.assertIn(ceiling["sm_mhz"], (1755, 1980, None))
        self.assertIn(1980, [ceiling["sm_mhz"] for ceiling in gpu["ceilings"].values()])
        kept = self.kept()
        self.assertEqual(kept, document)
        self.assertEqual(os.stat(self.kept_path()).st_mode & 0o777, 0o600)

    def kept_path(self):
        return os.path.join(self.cache, "kprof", "ceilings.yaml")

    def kept(self):
        with open(self.kept_path(), "rb") as file:
            converted = subprocess.run([os.path.join(BUILD, "tests/fake_gpu/yaml_to_json")],
                                       stdin=file, capture_output=True, check=True)
        return parse_json(converted.stdout)

    def test_text_all_of_another_device(self):
        os.makedirs(os.path.dirname(self.kept_path()))
        with open(self.kept_path(), "w", encoding="utf-8") as file:
            json.dump({"schema": "kprof.ceilings/v1", "gpus": [
                {"name": "H200", "uuid": "GPU-1", "driver": "1.2", "sm_count": 132, "ceilings": {}},
                {"name": "no more", "ceilings": 7}]}, file)
        ran = self.bench("ceilings", "--device", "1", "--all")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        text = ran.stdout.decode()
        self.assertRegex(text, r"GPU +Fake GPU, 10 SMs, 17\.18GB, device 1\n")
        self.assertRegex(text, r"\nread +430\.0 +430\.0 +430\.0 GB/s +84\.0% ")
        self.assertEqual((text.count("\ntensor "), text.count("\ncopy ")), (6, 6))
        self.assertIn("cuMemcpyDtoDAsync", text)
        self.assertEqual([gpu["uuid"] for gpu in self.kept()["gpus"]],
                         ["GPU-1", "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f"])

    def test_wrong_results(self):
        """A kernel that computes one word wrongly is never timed."""
        for launch in (1, 2, 7, 15, 19, 28):
            self.refused("ceilings", faults=f"wrong={launch}", says="broken")

    def test_too_little_memory(self):
        self.refused("ceilings", faults="free_mib=100", says="105MB of the memory.* are needed")

    def test_no_such_device(self):
        self.refused("ceilings", "--device", "2", says="there is no device 2")

    def test_formats(self):
        self.refused("ceilings", "-o", "x.csv", says="text, YAML or JSON")

    def test_cache_that_cannot_be_kept(self):
        """The measurement stands."""
        with open(self.cache, "w", encoding="utf-8"):
            pass
        ran = self.bench("ceilings")
        self.assertEqual(ran.returncode, 0)
        self.assertRegex(ran.stderr.decode(), "cannot be kept: Not a directory")
        self.assertIn(b"\nread ", ran.stdout)

    def test_cache_of_a_newer_kprof(self):
        os.makedirs(os.path.dirname(self.kept_path()))
        with open(self.kept_path(), "w", encoding="utf-8") as file:
            file.write("schema: kprof.ceilings/v2\n")
        ran = self.bench("ceilings")
        self.assertEqual(ran.returncode, 0)
        self.assertRegex(ran.stderr.decode(), "newer kprof")
        with open(self.kept_path(), encoding="utf-8") as file:
            self.assertEqual(file.read(), "schema: kprof.ceilings/v2\n")


@unittest.skipUnless(HAVE_NVCC, "built without nvcc")
class Operators(Case):
    """The fake GPU runs the kernels' source on the CPU, and takes 2 µs and 10 ns a block."""

    def one(self, *words, **more):
        ran = self.bench(*words, "-f", "json", **more)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        document = parse_json(ran.stdout)
        self.assertEqual(document["schema"], "kprof.bench/v1")
        self.assertEqual(document["gpu"], "Fake GPU")
        result, = document["results"]
        return result

    def test_each(self):
        """Every operator is right, and launched as its plan says."""
        kernels = {
            "rmsnorm": ("7x1000", "kp_rmsnorm_block_1_bf16", 7, 7 * 2 * 2000 + 2000),
            "add_rmsnorm": ("7x1001", "kp_rmsnorm_any_bf16", 7, 7 * 4 * 2002 + 2002),
            "layernorm": ("9x64", "kp_layernorm_team_1_bf16", 1, 9 * 2 * 128 + 256),
            "silu_mul": ("3x2048", "kp_activation_vector_1_bf16", 6, 3 * 3 * 4096),
            "gelu_mul": ("3x1", "kp_activation_any_bf16", 3, 3 * 3 * 2),
            "gelu": ("30x2048", "kp_activation_vector_2_bf16", 30, 30 * 2 * 4096),
            "rope": ("5x8", "kp_rope_vector_bf16", 5, 5 * (16 + 512 + 256 * 24)),
            "softmax": ("3x512", "kp_softmax_block_1_bf16", 3, 3 * 2 * 1024),
        }
        for name, (shape, kernel, blocks, moved) in kernels.items():
            with self.subTest(name):
                result = self.one(name, "--shape", shape)
                self.assertEqual((result["operator"], result["kernel"]), (name, kernel))
                self.assertEqual((result["grid_blocks"], result["bytes"]), (blocks, moved))
                self.assertTrue(0 < result["error_ulp"] < 1, result["error_ulp"])
                time_us = 2 + 0.01 * blocks
                for key in ("cold", "hot", "chain"):
                    self.assertAlmostEqual(result[key]["median_us"], time_us, delta=0.01)
                    self.assertLessEqual(result[key]["least_us"], result[key]["median_us"])
                self.assertAlmostEqual(result["cold_gbps"], moved / time_us / 1e3, delta=0.1)
                self.assertAlmostEqual(
                    result["of_copy_pct"],
                    100 * result["copy"]["median_us"] / result["cold"]["median_us"], delta=0.1)
                self.assertEqual(result["graph_nodes"] % result["buffer_sets"], 0)
                self.assertEqual(result["checked_units"], {"3": 3, "5": 4}.get(shape.split("x")[0], 5))
                self.assertEqual((result["shape"], result["cold_chain"]), (shape, result["cold"]))
                self.assertTrue(0 < result["error_of_allowed_pct"] <= 100)

    def test_reading(self):
        """Operators that read little else than weights or caches; bytes are what lengths say."""
        cases = {
            "linear_skinny": {
                "1x130x256": ("kp_linear_row_w16_bf16", 512 + 130 * 514, 64, 2.17),
                "3x128x256": ("kp_linear_tile_8_w16_bf16", 3 * 512 + 128 * 518, 64, 2.04),
                "16,64,4096,e4m3": ("kp_linear_tile_16_e4m3_bf16", 16 * 8192 + 64 * 4132, 63, None),
                "2x33x48,int8": ("kp_linear_tile_8_int8_bf16", 192 + 33 * 56, 33, None),
                "4x5x7": ("kp_linear_any_bf16", 56 + 5 * 22, 5, None),
            },
            "attention_decode": {
                "2x8x2x64x128": ("kp_attention_128_8_w16_bf16", 2 * (4 * 1024 + 4 + 512 * 128),
                                 2, 2.04),
                "3x8x2x64x64,page=16": ("kp_attention_64_8_w16_bf16",
                                        3 * (4 * 512 + 4 + 16 + 512 * 64), 3, None),
                "1x4x4x63x256,e4m3": ("kp_attention_256_8_e4m3_bf16",
                                      4 * 1024 + 4 + 2 * 63 * 1024, 1, None),
                "5x8x1x96x96,page=32,varied": ("kp_attention_96_8_w16_bf16", None, 3, None),
                "4x3x1x7x31,page=7,e4m3": ("kp_attention_any_bf16", None, 3, None),
            },
            "argmax": {
                "3x5000": ("kp_argmax_vector_bf16", 3 * (10000 + 4), 3, None),
                "70x33": ("kp_argmax_vector_bf16", 70 * (66 + 4), 63, None),
            },
            "topk_topp_sample": {
                "2x3001": ("kp_sample_begin_vector_bf16", 2 * (6002 + 4 + 4), 2, None),
            },
        }
        for name, shapes in cases.items():
            for shape, (kernel, moved, units, time_us) in shapes.items():
                with self.subTest(shape):
                    result = self.one(name, "--shape", shape)
                    self.assertEqual((result["kernel"], result["checked_units"]), (kernel, units))
                    self.assertEqual(result["shape"], shape.replace("16,64,", "16x64x"))
                    self.assertTrue(0 <= result["error_of_allowed_pct"] <= 100)
                    self.assertEqual(result["bytes"], moved or result["bytes"])
                    if time_us:
                        self.assertAlmostEqual(result["cold"]["median_us"], time_us, delta=0.3)
                    self.assertAlmostEqual(result["ceiling_gbps"], 430, delta=1)
                    share = result["bytes"] / result["cold"]["median_us"] / 1e3 / 430 * 100
                    self.assertAlmostEqual(result["of_ceiling_pct"], share, delta=0.2)
                    self.assertAlmostEqual(result["chain_of_ceiling_pct"], share, delta=0.2)
                    self.assertNotIn("copy", result)

    def test_prefill(self):
        """Rows of some heads are compared; FLOPs are counted, causal half of them."""
        for shape, kernel, pairs in (("2x4x2x70x96", "any_96", 70 * 70),
                                     ("1x3x3x65x104,causal", "any_128", 65 * 65 / 2),
                                     ("3x5x1x9x256", "any_256", 81), ("1x1x1x1x7", "any_64", 1)):
            with self.subTest(shape):
                result = self.one("attention_prefill", "--shape", shape)
                batch, heads, kv_heads, rows, head = map(int, shape.split(",")[0].split("x"))
                self.assertEqual((result["kernel"], result["checked_units"], result["shape"]),
                                 (f"kp_prefill_{kernel}_bf16", 1, shape))
                self.assertEqual(result["bytes"], 4 * batch * (heads + kv_heads) * rows * head)
                self.assertEqual(result["causal"], "causal" in shape)
                self.assertTrue(0 <= result["error_of_allowed_pct"] <= 100)
                flops = 4 * batch * heads * pairs * head
                self.assertAlmostEqual(result["cold_tflops"],
                                       flops / result["cold"]["median_us"] / 1e6, delta=0.06)
        self.refused("attention_prefill", "--shape", "1x4x2x60x64",
                     faults="wrong=1", says="is wrong in sequence 0, element 0: -?nan")
        for shape in ("1x4x2x60", "1x4x2x60x64,varied", "1x4x2x60x64,causal,"):
            self.refused("attention_prefill", "--shape", shape, says=r"ROWSxHEAD_DIM\[,causal\]")

    def test_lengths_that_vary(self):
        """Some of what a cache of equal lengths has is not read, and not counted."""
        even = self.one("attention_decode", "--shape", "8x4x1x64x64,page=16")["bytes"]
        varied = self.one("attention_decode", "--shape", "8x4x1x64x64,page=16,varied")["bytes"]
        self.assertTrue(even / 4 < varied < even * 0.9, (even, varied))

    def test_text(self):
        ran = self.bench("softmax", "--shape", "3x512")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout.decode(), r"\n3x512 +2\.03 .* ulp +kp_softmax_block_1_bf16\n")

    def test_list(self):
        names = [line.split()[0] for line in self.bench(driver=False).stdout.decode().splitlines()]
        self.assertEqual(names, ["ceilings", "rmsnorm", "add_rmsnorm", "layernorm", "silu_mul",
                                 "gelu_mul", "gelu", "rope", "softmax", "linear_skinny",
                                 "attention_decode", "attention_prefill", "argmax",
                                 "topk_topp_sample"])

    def test_output_that_was_never_written(self):
        """The fake leaves the first launch out: what is there is the poison."""
        self.refused("rmsnorm", "--shape", "3x64", faults="wrong=1",
                     says="rmsnorm of 3x64 is wrong in row 0, element 0: -?nan")

    def test_other_bits(self):
        """The second launch is left out: its output is not what the first one's is."""
        self.refused("rmsnorm", "--shape", "3x64", faults="wrong=2", says="other bits the second")

    def test_shapes_that_are_none(self):
        for shape in ("4096", "4096x", "x3", "0x5", "5x0", "3x4x5", "-3x4", "99999999999x2", "3x4y"):
            self.refused("gelu", "--shape", shape, says="--shape of gelu is ROWSxCOLUMNS, each from")
        for shape in ("3x4", "3x4x5x6", "3x4x5,", "3x4x5,e5m2", "3x4x5,varied", "3x4x5,page=4"):
            self.refused("linear_skinny", "--shape", shape, says="is TOKENSxOUTPUTSxINPUTS")
        for shape in ("1x4x2x60x64,page=16", "1x4x2x64x64,page=", "1x4x2x64x64,page=0",
                      "1x4x2x64x64,int8", "16777216x16777216x2x1x1"):
            self.refused("attention_decode", "--shape", shape, says="a multiple of the page")

    def test_shapes_that_cannot_run(self):
        self.refused("linear_skinny", "--shape", "17x4x4", says="more than 16 tokens")
        self.refused("attention_decode", "--shape", "1x3x2x8x64", says="no multiple of kv_heads")
        self.refused("attention_decode", "--shape", "1x4x2x8x257", says="head_dim is 0 or above")

    def against(self, how, *words, **more):
        here = os.path.dirname(os.path.abspath(__file__))
        return {"words": (*words, "--against", "torch,cudnn"),
                "more": dict(KPROF_PYTHON=os.path.join(here, "references_python"), KP_STUB=how,
                             PYTHON=sys.executable, **more)}

    def test_against(self):
        asked = self.against("good", "softmax", "--shape", "3x512")
        ran = self.bench(*asked["words"], **asked["more"])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout.decode(), r"\n3x512 +other1 +16\.00 +2\.50x \(2\.25 to 2\.75\) "
                                              r"+9\.00 +1\.12x \(0\.88 to 1\.38\)\n")
        self.assertEqual(ran.stderr.decode().splitlines(), [
            "asked: softmax --against torch,cudnn --check",
            "asked: softmax --against torch,cudnn --device 0 3x512"])
        result = self.one(*asked["words"], **asked["more"])
        self.assertEqual(result["against"]["ours_cold"],
                         {"median_us": 10, "least_us": 9.5, "most_us": 10.5})
        self.assertEqual(result["against"]["references"][1], {
            "name": "other1", "group": "torch",
            "cold": {"median_us": 16, "least_us": 15.5, "most_us": 16.5},
            "hot": {"median_us": 9, "least_us": 8.5, "most_us": 9.5},
            "cold_ratio": {"median": 2.5, "least": 2.25, "most": 2.75},
            "hot_ratio": {"median": 1.125, "least": 0.875, "most": 1.375}, "error": 0.002})

    def test_against_what_cannot_do_it(self):
        asked = self.against("none", "attention_decode", "--shape", "2x4x1x8x64,varied")
        ran = self.bench(*asked["words"], **asked["more"])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(b"\n2x4x1x8x64,varied none of them can do this\n", ran.stdout)
        self.assertIn(b"--device 0 2x4x1x8x64,varied\n", ran.stderr)
        self.assertEqual(self.one(*asked["words"], **asked["more"])["against"]["references"], [])

    def test_against_that_fails(self):
        for how, says in (("said", "^asked: [^\n]*\nkprof: no such thing here\n$"),
                          ("short", "gave 0 results instead of 1"),
                          ("garbage", "gave 0 results instead of 1"),
                          ("status", "bench_references.py ended with 7"),
                          ("signal", "was ended by signal 9")):
            asked = self.against(how, "gelu", "--shape", "3x64")
            self.refused(*asked["words"], says=says, **asked["more"])
        self.refused("gelu", "--against", "torch", KPROF_PYTHON="/nonexistent/python",
                     says="/nonexistent/python cannot be started: No such file.*KPROF_PYTHON")

    def test_too_little_memory(self):
        self.refused("gelu", "--shape", "16384x16384", faults="free_mib=100",
                     says="needs more memory than")

    def test_near_name(self):
        self.refused("sofmax", says="did you mean softmax")

    def test_no_such_device(self):
        self.refused("gelu", "--device", "2", says="there is no device 2")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    arguments, rest = parser.parse_known_args()
    BUILD = os.path.abspath(arguments.build)
    unittest.main(argv=[sys.argv[0], *rest])
