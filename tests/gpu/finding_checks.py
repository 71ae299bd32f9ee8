"""The checks of findings on a real GPU: what they name first, and what they promise against what is
saved when the remedy is applied; rows of checks.py."""

from runner import Check, require

SLACK = 0.2  # of what was saved
BACKENDS = "attention_backends.py"


def kept(before, after, expected, rows):
    """Of the finding that is first: kernel time promised and saved, of the operators in `rows`."""
    first = before.document["findings"][0]
    require(first["id"] == expected, f"first is {first['id']}, not {expected}")

    def time_ns(seen):
        return sum(row["total_ns"] for row in seen.document["operators"] if row["name"] in rows)

    promised = first["win"]["kernel_time_likely_ns"]
    saved = time_ns(before) - time_ns(after)
    words = (f"promised {promised / 1e6:.3f} ms, at most "
             f"{first['win']['kernel_time_bound_ns'] / 1e6:.3f}, saved {saved / 1e6:.3f}")
    require(saved <= first["win"]["kernel_time_bound_ns"] * 1.02, f"{words}: above the bound")
    require(abs(promised - saved) <= SLACK * saved, words)
    require(expected not in [finding["id"] for finding in after.document["findings"]],
            f"{words}: found again")
    return words


def rows(record_with, need_torch, python, samples):
    """The rows of checks.py; the arguments are its functions, its Python and its samples' folder."""
    def math_attention(bench):
        need_torch(bench)
        seen = [record_with(bench, [], [python, samples / BACKENDS, "--backends", backend])[1]
                for backend in ("MATH", "FLASH_ATTENTION")]
        return kept(*seen, "math-attention", ("attention",))

    return [
        Check("finding-math-attention", 300, math_attention,
              "math attention is named first, and what flash saves is what was promised"),
    ]
