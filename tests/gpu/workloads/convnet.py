#!/usr/bin/env python3
"""Image models of timm with random weights, and a block with group norm, in half precision.

By default ResNet (batch norm) and ConvNeXt (depthwise convolutions, layer norm, GELU), the first in
both memory layouts.
"""

import copy

import timm
import torch
from torch import nn

from common import parser, steady


def group_block(width):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.GroupNorm(8, width), nn.SiLU(),
                         nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(8, width), nn.SiLU(),
                         nn.Upsample(scale_factor=2), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1))


def main():
    out = parser(__doc__.splitlines()[0])
    out.add_argument("--models", nargs="+", default=["resnet50", "convnext_tiny"],
                     help="names that timm knows; the first also in channels_last")
    args = out.parse_args()
    small = args.device == "cpu"
    dtype = torch.float32 if small else torch.float16
    size, batch = (64, 1) if small else (224, 16)
    torch.manual_seed(1)
    models = [timm.create_model(name, pretrained=False) for name in args.models]
    models = [model.to(args.device, dtype).eval() for model in [*models, group_block(64)]]
    images = torch.randn(batch, 3, size, size, device=args.device, dtype=dtype)
    wide = images.to(memory_format=torch.channels_last)
    last = copy.deepcopy(models[0]).to(memory_format=torch.channels_last)
    with torch.no_grad():
        for model in models:
            model(images)
        last(wide)
        with steady(args):
            for _ in range(3):
                for model in models:
                    out = model(images)
                out = last(wide).softmax(-1)
    print("shape", *out.shape)


if __name__ == "__main__":
    main()
