/* The versions of attention_prefill; attention_prefill.h says what they compute,
 * attention_prefill.c which one runs. */
#include "kernels/attention_copy.cuh"
#include "kernels/attention_piece.cuh"
#include "kernels/hopper.cuh"

#define PASTE_5(a, b, c, d, e) a##b##c##d##e
#define PREFILL_SYMBOL(kind, version, type) PASTE_5(kp_prefill_, kind, version, _, type)

/* clang-format off */
#define GENERAL_DIM 64
#include "kernels/attention_general.cuh"
#define GENERAL_DIM 96
#include "kernels/attention_general.cuh"
#define GENERAL_DIM 128
#include "kernels/attention_general.cuh"
#define GENERAL_DIM 256
#include "kernels/attention_general.cuh"

#define HOPPER_VERSION 64
#define HOPPER_DIM 64
#define HOPPER_DIM_HALF 32
#define HOPPER_KEYS 128
#define HOPPER_KEYS_HALF 64
#define HOPPER_GROUPS 3
#define HOPPER_Q_STAGES 2
#define HOPPER_CROSS 0
#include "kernels/attention_hopper.cuh"
#define HOPPER_VERSION 128
#define HOPPER_DIM 128
#define HOPPER_DIM_HALF 64
#define HOPPER_KEYS 128
#define HOPPER_KEYS_HALF 64
#define HOPPER_GROUPS 2
#define HOPPER_Q_STAGES 2
#define HOPPER_CROSS 0
#include "kernels/attention_hopper.cuh"
#define HOPPER_VERSION 128_wide
#define HOPPER_DIM 128
#define HOPPER_DIM_HALF 64
#define HOPPER_KEYS 176
#define HOPPER_KEYS_HALF 88
#define HOPPER_GROUPS 2
#define HOPPER_Q_STAGES 1
#define HOPPER_CROSS 0
#include "kernels/attention_hopper.cuh"
/* clang-format on */
