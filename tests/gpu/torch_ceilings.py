"""What PyTorch reaches of each ceiling, as JSON: {"copy_gbps": …}. Medians, random data."""

import json
import sys

import torch


def median_s(work, warm):
    for _ in range(warm):
        work()
    times = []
    for _ in range(21):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return sorted(times)[10]


def memory():
    words = min(1 << 30, torch.cuda.mem_get_info()[0] // 16)
    source = torch.randn(words, device="cuda")
    target = torch.empty_like(source)
    gigabytes = 4 * words / 1e9
    return {
        "copy_gbps": 2 * gigabytes / median_s(lambda: target.copy_(source), 5),
        "read_gbps": gigabytes / median_s(source.sum, 5),
        "write_gbps": gigabytes / median_s(lambda: target.fill_(1.5), 5),
    }


def matrix(dtype, size, allow_tf32=False):
    torch.backends.cuda.matmul.allow_tf32 = allow_tf32
    a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
    return 2 * size**3 / median_s(lambda: a @ b, 20) / 1e12


if __name__ == "__main__":
    found = memory()
    found["tensor_bf16_tflops"] = matrix(torch.bfloat16, 8192)
    found["tensor_fp16_tflops"] = matrix(torch.float16, 8192)
    found["tensor_tf32_tflops"] = matrix(torch.float32, 8192, allow_tf32=True)
    found["fp32_tflops"] = matrix(torch.float32, 8192)
    found["tensor_fp64_tflops"] = matrix(torch.float64, 4096)
    json.dump(found, sys.stdout)
