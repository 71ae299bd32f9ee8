"""The checks of --duty beside large graphs in several threads, on a real GPU; rows of checks.py."""

import compare
from runner import Check, require

LARGE = ["--graph-nodes", "1200", "--graph-threads", "4", "--node-cycles", "1000",
         "--replays", "3000"]


def rows(sample, duty_run, require_detached):
    """The rows of checks.py; the arguments are its functions."""
    def large_graphs(bench):
        """Four threads replay graphs of 1,200 nodes: no launch is without a count."""
        argv = [sample(bench, "spin"), *LARGE]
        bare = bench.run(argv)
        ran, seen = duty_run(bench, argv, "10%")
        compare.same_output(bare, ran)
        process, = seen.document["processes"]
        counts = process["counts"]
        issued = bare.number("kernel_launches")
        require(counts["kernels_issued"] == issued,
                f"{counts['kernels_issued']} launches counted, {issued} made")
        require(counts["records_dropped"] == 0, f"{counts['records_dropped']} records dropped")
        return (f"{seen.kernels} of {issued} launches in {seen.document['windows']['count']} "
                f"windows; {require_detached(bench)}")

    return [Check("duty-large-graphs", 240, large_graphs,
                  "--duty 10%, four threads replaying graphs of 1,200 nodes: output, every launch "
                  "in one count, none dropped, detached after each window")]
