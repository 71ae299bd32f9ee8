/* How much of a trace's texts is taken; see limits.h. */
#include "trace/limits.h"

#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* What stands for a byte that has to be escaped takes so many times more. */
#define ESCAPED 5

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

size_t kp_limits_waiting(uint64_t trace_bytes)
{
	uint64_t all = trace_bytes; /* a launch that a collector writes takes a byte and more */

	if (all > KP_LIMIT_WAITING_MOST)
		all = larger(KP_LIMIT_WAITING_MOST, trace_bytes / 16);
	return (size_t)larger(KP_LIMIT_WAITING, all);
}

void kp_limits_init(struct kp_limits *limits, uint64_t trace_bytes)
{
	size_t kernels = larger(KP_LIMIT_KERNELS, trace_bytes / KP_LIMIT_KERNEL_BYTES);

	*limits = (struct kp_limits){
		.stored_left = larger(KP_LIMIT_STORED_BYTES, trace_bytes),
		.names_left = larger(KP_LIMIT_NAME_BYTES, trace_bytes / 3),
		.words_left = larger(KP_LIMIT_WORD_BYTES, trace_bytes / 3),
		.kernels = kernels,
		.kernels_left = kernels,
		.devices = larger(KP_LIMIT_DEVICES, trace_bytes / KP_LIMIT_DEVICE_BYTES),
	};
}

void kp_limits_fini(struct kp_limits *limits)
{
	kp_intern_fini(&limits->texts);
	kp_intern_fini(&limits->devices_known);
	*limits = (struct kp_limits){0};
}

/* Takes from what is left, if there is as much. */
static bool take(uint64_t *left, uint64_t bytes)
{
	if (bytes > *left)
		return false;
	*left -= bytes;
	return true;
}

static uint64_t cost_of(const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	uint64_t cost = length;

	for (size_t i = 0; i < length; i++)
		cost += at[i] < 0x20 || at[i] >= 0x7f || at[i] == '\\' ? ESCAPED - 1 : 0;
	return cost;
}

bool kp_limits_store(struct kp_limits *limits, size_t length)
{
	return length <= KP_LIMIT_CUT_BYTES ||
	       (length <= KP_LIMIT_LONGEST && take(&limits->stored_left, length));
}

bool kp_limits_record(struct kp_limits *limits, const void *bytes, size_t length)
{
	return take(&limits->words_left, cost_of(bytes, length));
}

enum kp_status kp_limits_device(struct kp_limits *limits, uint32_t process, uint32_t device,
				bool *too_many)
{
	const uint32_t key[2] = {process, device};
	uint32_t number;

	*too_many = false;
	if (kp_intern_find(&limits->devices_known, key, sizeof(key), &number))
		return KP_OK;
	*too_many = limits->devices_known.count >= limits->devices;
	return *too_many ? KP_OK
			 : kp_intern_put(&limits->devices_known, key, sizeof(key), &number, NULL);
}

enum kp_status kp_limits_judge(struct kp_limits *limits, struct kp_text text, bool kernel,
			       enum kp_limits_verdict *out)
{
	/* As good as the text: who finds two of one hash gets one of them for nothing. */
	const XXH128_hash_t key = XXH3_128bits_withSeed(text.bytes, text.length, kernel);
	uint64_t *left = kernel ? &limits->names_left : &limits->words_left;
	bool is_short = text.length <= KP_LIMIT_CUT_BYTES;
	uint32_t number;

	*out = KP_LIMIT_WHOLE;
	if ((!kernel && is_short) || kp_intern_find(&limits->texts, &key, sizeof(key), &number))
		return KP_OK;
	if (kernel && !limits->kernels_left) {
		*out = KP_LIMIT_BEYOND;
		return KP_OK;
	}
	limits->kernels_left -= kernel;
	if (!is_short && !take(left, cost_of(text.bytes, text.length))) {
		*out = KP_LIMIT_CUT;
		return KP_OK;
	}
	return kp_intern_put(&limits->texts, &key, sizeof(key), &number, NULL);
}

size_t kp_limits_cut(const void *bytes, size_t length, size_t number, char *out)
{
	const unsigned char *at = bytes;
	size_t kept = length < KP_LIMIT_CUT_BYTES ? length : KP_LIMIT_CUT_BYTES;

	while (kept && kept < length && (at[kept] & 0xc0) == 0x80)
		kept--; /* not within a character */
	memcpy(out, bytes, kept);
	return kept + (size_t)snprintf(out + kept, 32, "… (%zu)", number);
}
