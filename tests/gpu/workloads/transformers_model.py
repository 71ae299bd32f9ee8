#!/usr/bin/env python3
"""Generation with a model of the transformers library, made from its configuration: no download."""

import torch
import transformers

from common import parser, steady

SMALL = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 128}
LARGE = {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 4,
         "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000}
EXPERTS = {"num_local_experts": 8, "num_experts_per_tok": 2}
QWEN_EXPERTS = {"num_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 1024,
                "shared_expert_intermediate_size": 2048}
GPT2 = {"n_layer": 6, "n_embd": 1024, "n_head": 16}
GPT2_SMALL = {"n_layer": 2, "n_embd": 64, "n_head": 4, "vocab_size": 128}


def config_of(name, small):
    sizes = SMALL if small else LARGE
    if name == "llama":
        return transformers.LlamaConfig(**sizes)
    if name == "gpt2":
        return transformers.GPT2Config(**(GPT2_SMALL if small else GPT2))
    if name == "mixtral":
        return transformers.MixtralConfig(**sizes, **EXPERTS)
    return transformers.Qwen2MoeConfig(**sizes, **QWEN_EXPERTS)


def generate(model, prompt, tokens, **options):
    return model.generate(prompt, attention_mask=torch.ones_like(prompt), min_new_tokens=tokens,
                          max_new_tokens=tokens, pad_token_id=0, **options)


def main():
    out = parser(__doc__)
    out.add_argument("model", choices=("llama", "gpt2", "mixtral", "qwen2-moe"))
    out.add_argument("--attention", default="sdpa", choices=("sdpa", "eager"))
    out.add_argument("--tokens", type=int, default=12)
    args = out.parse_args()
    small = args.device == "cpu"
    torch.manual_seed(1)
    config = config_of(args.model, small)
    model = transformers.AutoModelForCausalLM.from_config(
        config, attn_implementation=args.attention, dtype=torch.bfloat16)
    model = model.to(args.device).eval()
    prompt = torch.randint(1, config.vocab_size, (2, 16 if small else 512), device=args.device)
    ways = ({"do_sample": False},
            {"do_sample": True, "top_k": 50, "top_p": 0.9, "temperature": 0.8})
    with torch.no_grad():
        for options in ways:
            generate(model, prompt, 3, **options)
        with steady(args):
            for options in ways:
                tokens = generate(model, prompt, args.tokens, **options)
    print("shape", *tokens.shape)


if __name__ == "__main__":
    main()
