"""What the checks read of a report: the document kprof.report/v1 (docs/report-yaml.md) as JSON."""

import json

from compare import Kernel
from runner import Failure, require


class Report:
    def __init__(self, data):
        self.document = json.loads(data)
        require(self.document["schema"] == "kprof.report/v1",
                f"schema {self.document['schema']} in the report")

    @property
    def kernels(self):
        return self.document["counts"]["kernels"]

    @property
    def dropped(self):
        """Records that CUPTI dropped; None: unknown."""
        return self.document["counts"]["records_dropped"]

    @property
    def issued(self):
        """Launches seen on their way to the driver; None: not counted."""
        issued = [process["counts"]["kernels_issued"] for process in self.traced]
        return None if None in issued else sum(issued)

    @property
    def ranges(self):
        return self.document["counts"]["nvtx_ranges"]

    @property
    def unfinished(self):
        return self.document["counts"]["processes_unfinished"]

    @property
    def traced(self):
        """The processes that used CUDA."""
        return [row for row in self.document["processes"] if row.get("untraced") is None]

    @property
    def span_ns(self):
        return self.document["totals"]["span_ns"]

    def memops(self, kind):
        """How many memory operations there are of a kind: «copy» or «memory set»."""
        return sum(row["calls"] for row in self.document["memory_operations"]
                   if row["name"].startswith(kind))

    def kernel(self, function):
        """The one kernel whose full name has this function."""
        rows = [row for row in self.document["kernels"] if function in row["full_name"]]
        if len(rows) != 1:
            raise Failure(f"{len(rows)} kernels called {function} in the report, not 1")
        return Kernel(rows[0]["calls"], rows[0]["total_ns"])

    def by_full_name(self):
        """{full demangled name: Kernel}; kernels of one name in several modules are one."""
        kernels = {}
        for row in self.document["kernels"]:
            kernel = kernels.setdefault(row["full_name"], Kernel(0, 0))
            kernel.calls += row["calls"]
            kernel.total_ns += row["total_ns"] or 0
        return kernels
