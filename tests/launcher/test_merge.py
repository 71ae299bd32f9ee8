"""kprof merge, and the ranks of a report: clocks aligned, nothing lost, nothing made up.

The ranks are made as traces of PyTorch's profiler, with the truth known: what each computes, who
comes last, and by how much each host's clock is off."""

import json
import os
import random
import unittest

from harness import SOURCE, Case
from test_import import BASE, kernel, kineto, ranking

RECORDED = [os.path.join(SOURCE, "samples/traces", name)
            for name in ("torch_decode.kprof", "llm_decode_eager.kprof", "llm_decode_graph.kprof")]
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
STEPS = 60


def job(ranks, slow, seed=1):
    """Events by rank, in true µs: each step computes, then all reduce, which ends together."""
    chance = random.Random(seed)
    events, at, wait, last = ({r: [] for r in range(ranks)}, [1000.0] * ranks, [0.0] * ranks,
                              [0] * ranks)
    for _ in range(STEPS):
        starts = []
        for rank in range(ranks):
            took = 100 + chance.randrange(20) + (50 if rank == slow else 0)
            events[rank].append(("gemm_kernel", at[rank], took))
            starts.append(at[rank] + took + 1)
        end = max(starts) + 12
        last[starts.index(max(starts))] += 1
        for rank in range(ranks):
            events[rank].append((ALL_REDUCE, starts[rank], end - starts[rank]))
            wait[rank] += max(starts) - starts[rank]
            at[rank] = end + 3
    return events, wait, last


class MergeCase(Case):
    def rank(self, rank, events, host="a", off_us=0.0, **root):
        """A trace of one rank, whose host's clocks are ahead of the truth."""
        name = f"rank{rank}"
        self.write(name + ".json", json.dumps(kineto(
            [kernel(name_, round(ts + off_us, 3), dur) for name_, ts, dur in events],
            host_name=host, distributedInfo={"rank": rank}, **root)))
        result = self.kprof("import", "-o", name + ".kprof", name + ".json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return name + ".kprof"

    def merge(self, *traces, out="job.kprof"):
        result = self.kprof("merge", "-o", out, *traces)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.stderr = result.stderr.decode()
        return self.report_json(out)


class Whole(MergeCase):
    def test_nothing_is_lost_or_moved(self):
        for trace in RECORDED:
            before, after = self.report_json(trace), self.merge(trace)
            self.assertEqual(ranking(after), ranking(before))
            for key in ("ranges", "timeline", "memory_operations", "ranks", "findings"):
                self.assertEqual(after.get(key), before.get(key), (trace, key))
            for was, now in zip(before["processes"], after["processes"]):
                self.assertNotEqual(was.pop("id"), now.pop("id"))
                self.assertEqual(was, now)

    def test_counters_clocks_and_windows_survive(self):
        for name in ("decode_graph_50us", "traffic_streams"):
            trace = os.path.join(SOURCE, "tests/recorded", name + ".kprof")
            before, after = self.report_json(trace), self.merge(trace)
            for key in ("gpus", "operators", "kernels", "windows", "counts"):
                self.assertEqual(after[key], before[key], (name, key))

    def test_merging_says_what_cat_says(self):
        self.merge(*RECORDED)
        with open(self.path("cat.kprof"), "wb") as out:
            for trace in RECORDED:
                with open(trace, "rb") as file:
                    out.write(file.read())
        self.assertEqual(ranking(self.report_json("job.kprof")),
                         ranking(self.report_json("cat.kprof")))

    def test_what_is_there_twice_counts_once(self):
        self.merge(RECORDED[1], RECORDED[1])
        self.assertIn("more than once", self.stderr)
        self.assertEqual(ranking(self.report_json("job.kprof")),
                         ranking(self.report_json(RECORDED[1])))
        result = self.kprof("merge", "-o", "again.kprof", "job.kprof", RECORDED[1])
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"twice", result.stderr)
        self.assertNotIn("again.kprof", self.files())
        for command in (("report",), ("export", "-f", "openmetrics"), ("info",)):
            result = self.kprof(*command, "job.kprof", RECORDED[1])
            self.assertEqual(result.returncode, 0)
            self.assertIn(b"counts twice", result.stderr)
            self.assertEqual(self.kprof(*command, RECORDED[1], RECORDED[1]).stderr, b"")

    def test_disorder_is_put_in_order(self):
        """More launches than one spool holds, backwards: they come out as in the true order."""
        count = 400_000
        with open(self.path("back.json"), "w", encoding="utf-8") as file:
            file.write('{"traceEvents": [')
            for at in range(count):
                ts = (count - at) * 2
                file.write(f'{"," if at else ""}{{"ph":"X","cat":"kernel","name":"k","pid":0,'
                           f'"tid":7,"ts":{ts}.5,"dur":1.5,"args":{{"stream":7,"device":0}}}}')
            file.write("]}")
        result = self.kprof("import", "-o", "back.kprof", "back.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = self.report_json("back.kprof")
        self.assertEqual(report["counts"]["kernels_timed"], count)
        self.assertEqual(report["counts"]["kernels_displaced"], 0)
        self.assertEqual(report["totals"]["busy_time_ns"], count * 1500)
        self.assertEqual(self.files(), ["back.json", "back.kprof"])  # nothing is left behind

    def test_damage_and_wrong_files(self):
        with open(RECORDED[1], "rb") as file:
            self.write("torn.kprof", file.read()[:30000])
        self.merge("torn.kprof")
        self.assertIn("damaged", self.stderr)
        for words in (("merge", "-o", "x", "missing"), ("merge", RECORDED[1])):
            result = self.kprof(*words)
            self.assertEqual(result.returncode, 125)
            self.assertEqual(len(result.stderr.splitlines()), 1)


    def test_losses_are_kept_and_said(self):
        """Bytes that are wrong, and an end that is gone: merged once, and what that made again."""
        with open(RECORDED[0], "rb") as file:
            whole = file.read()
        wrong = bytes(byte ^ 0x5a for byte in whole[60000:60100])
        for name, data in (("wrong", whole[:60000] + wrong + whole[60100:]),
                           ("short", whole[:100000])):
            self.write(name + ".kprof", data)
            before = self.report_json(name + ".kprof")
            lost = before["counts"]["kernels_lost"]
            self.assertGreater(lost, 10000)
            for source, out in ((name, "once"), ("once", "again")):
                after = self.merge(source + ".kprof", out=out + ".kprof")
                self.assertIn(f"{lost} launches are lost", self.stderr)
                self.assertEqual(after["counts"]["kernels_lost"], lost)
                self.assertEqual(after["damage"]["missing_chunks"], 1)
                for key in ("kernels_missing", "fate", "kernels"):
                    self.assertEqual(after["processes"][0][key], before["processes"][0][key])
                result = self.kprof("info", out + ".kprof")
                self.assertIn(b"Note (warning): the traces are damaged", result.stdout)
                result = self.kprof("report", out + ".kprof")
                self.assertRegex(result.stdout, rb"Damaged .*missing: 1")
                result = self.kprof("report", "--fail-on", "total.time > 1s", out + ".kprof")
                self.assertEqual(result.returncode, 1)

    def test_a_good_copy_wins(self):
        with open(RECORDED[0], "rb") as file:
            whole = file.read()
        self.write("wrong.kprof", whole[:60000] + bytes(100) + whole[60100:])
        for traces in (("wrong.kprof", RECORDED[0]), (RECORDED[0], "wrong.kprof")):
            after = self.merge(*traces)
            self.assertEqual(ranking(after), ranking(self.report_json(RECORDED[0])))
            self.assertEqual(after["counts"]["kernels_lost"], 0)
            self.assertNotIn("damaged", self.stderr)


class Clocks(MergeCase):
    def test_collectives_align_hosts(self):
        """The second host's wall clock is 3.3 ms ahead: collectives find that, within bounds."""
        events, _, _ = job(4, slow=2)
        traces = [self.rank(r, events[r], host="a" if r < 2 else "b",
                            off_us=0 if r < 2 else 3300) for r in range(4)]
        report = self.merge(*traces)
        self.assertIn("collective operations", self.stderr)
        off, within = self.said()
        self.assertLessEqual(abs(off - 3300), within)
        self.assertLess(within, 40)
        self.assertEqual(report["ranks"]["collectives"], STEPS)

    def said(self):
        """What the line says: µs by which wall clocks were off, and the bound of the error."""
        line = next(line for line in self.stderr.splitlines() if "right within" in line)
        units = {"ns": .001, "µs": 1, "ms": 1000, "s": 1e6}

        def number(words):
            text = line.split(words)[1].split()[0].rstrip(",;")
            unit = next(u for u in ("ns", "µs", "ms", "s") if text.endswith(u))
            return float(text[:-len(unit)]) * units[unit]
        return number("off by "), number("right within ")

    def test_bounds_hold_whatever_the_offset(self):
        for seed in range(5):
            events, _, _ = job(2, slow=seed % 2, seed=seed)
            off = random.Random(seed).uniform(-5000, 5000)
            traces = [self.rank(r, events[r], host="ab"[r], off_us=off * r + 6000)
                      for r in range(2)]
            self.merge(*traces)
            said, within = self.said()
            self.assertLessEqual(abs(said - abs(off)), within + abs(off) / 500, seed)

    def test_operations_that_contradict_each_other_are_not_used(self):
        events, _, _ = job(2, slow=0)
        drifting = [(name, ts * 1.5, dur) for name, ts, dur in events[1]]
        traces = [self.rank(0, events[0], host="a"), self.rank(1, drifting, host="b")]
        self.merge(*traces)
        self.assertIn("contradict", self.stderr)
        self.assertIn("wall clocks of both", self.stderr)

    def test_one_host_is_not_moved(self):
        events, _, _ = job(2, slow=0)
        traces = [self.rank(r, events[r]) for r in range(2)]
        self.merge(*traces)
        self.assertNotIn("moved", self.stderr)
        self.assertIn("and 1 host", self.stderr)

    def test_a_host_without_a_wall_clock_stays(self):
        events, _, _ = job(2, slow=0)
        known = self.rank(0, [e for e in events[0] if e[0] != ALL_REDUCE])
        self.write("other.json", json.dumps([kernel("k", 1.5, 2)]))
        self.assertEqual(self.kprof("import", "-o", "o.kprof", "other.json").returncode, 0)
        self.merge(known, "o.kprof")
        self.assertIn("not moved", self.stderr)


class Ranks(MergeCase):
    def test_who_waits_for_whom(self):
        events, wait, last = job(3, slow=1)
        report = self.merge(*[self.rank(r, events[r]) for r in range(3)])["ranks"]
        self.assertEqual([row["rank"] for row in report["rows"]], ["0", "1", "2"])
        self.assertEqual(report["slowest"], "1")
        self.assertEqual(report["collectives"], STEPS)
        self.assertEqual(report["collectives_unmatched"], 0)
        compute = [sum(dur for name, _, dur in events[r] if name != ALL_REDUCE) for r in range(3)]
        for r, row in enumerate(report["rows"]):
            self.assertEqual(row["compute_time_ns"], round(compute[r] * 1000))
            self.assertEqual(row["wait_time_ns"], round(wait[r] * 1000))
            self.assertEqual(row["last_arrivals"], last[r])
            self.assertEqual(row["kernel_time_ns"],
                             row["compute_time_ns"] + row["communication_time_ns"])
            self.assertEqual(row["busy_time_ns"], row["kernel_time_ns"])
        self.assertAlmostEqual(report["compute_imbalance"], max(compute) / (sum(compute) / 3), 3)
        text = self.report("job.kprof")
        self.assertIn("most in rank 1", " ".join(text.split()))

    def test_ranks_are_in_order_of_their_numbers(self):
        events, _, _ = job(2, slow=0)
        report = self.merge(*[self.rank(r, events[r % 2]) for r in (10, 9, 1, 2)])["ranks"]
        self.assertEqual([row["rank"] for row in report["rows"]], ["1", "2", "9", "10"])

    def test_one_rank_is_none(self):
        events, _, _ = job(2, slow=0)
        self.assertIsNone(self.report_json(self.rank(0, events[0]))["ranks"])
        self.assertNotIn("Ranks", self.report("rank0.kprof"))
        self.assertIsNone(self.report_json(RECORDED[0])["ranks"])

    def test_what_cannot_be_told_is_not_told(self):
        events, _, _ = job(2, slow=0)
        traces = [self.rank(0, events[0], host="a"),
                  self.rank(1, events[1][:-10], host="b", off_us=1e6)]
        report = self.report_json(*traces)["ranks"]
        self.assertEqual(report["collectives"], 0)
        self.assertEqual(report["collectives_unmatched"], STEPS)
        for row in report["rows"]:
            self.assertIsNone(row["wait_time_ns"])
            self.assertIsNone(row["last_arrivals"])

    def test_the_clock_of_imports_is_the_wall_clock(self):
        events, _, _ = job(2, slow=0)
        self.rank(0, events[0], baseTimeNanoseconds=BASE + 5_000_000)
        self.rank(1, events[1])
        report = self.report_json("rank0.kprof", "rank1.kprof")
        starts = [process["start_ns"] for process in report["processes"]]
        self.assertEqual(sorted(starts), [BASE + 1_000_000, BASE + 6_000_000])


if __name__ == "__main__":
    unittest.main()
