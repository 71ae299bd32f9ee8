/* Ceilings of a device that nobody measured, and what is common to all; see ceilings.h. */
#include "analyzers/ceilings.h"

#include <stddef.h>
#include <string.h>

/* A chip's row of datasheet.def: one peak for memory, then one a kind behind COPY; 0: no figure. */
struct peaks {
	const char *name;
	double values[KP_CEILING_COUNT - KP_CEILING_COPY];
};

// clang-format off
static const struct peaks datasheet[] = {
#define X(name, ...) {name, {__VA_ARGS__}},
#include "analyzers/datasheet.def"
#undef X
};

static const struct {
	const char *key, *unit, *about;
} kinds[KP_CEILING_COUNT] = {
#define X(NAME, key, unit, about) {key, unit, about},
	KP_CEILINGS(X)
#undef X
};

static const char *const source_names[KP_CEILING_SOURCE_COUNT] = {
#define X(NAME, name) name,
	KP_CEILING_SOURCES(X)
#undef X
};

/* 32-bit lanes of a multiprocessor, by compute capability. */
static const struct {
	uint64_t major, minor;
	unsigned lanes;
} fp32_lanes[] = {
	{7, 0, 64}, {7, 2, 64}, {7, 5, 64}, {8, 0, 64}, {8, 6, 128}, {8, 7, 128}, {8, 9, 128},
	{9, 0, 128}, {10, 0, 128}, {10, 3, 128}, {12, 0, 128}, {12, 1, 128},
};
// clang-format on

const char *kp_ceiling_key(enum kp_ceiling_kind kind)
{
	return kinds[kind].key;
}

const char *kp_ceiling_unit(enum kp_ceiling_kind kind)
{
	return kinds[kind].unit;
}

const char *kp_ceiling_about(enum kp_ceiling_kind kind)
{
	return kinds[kind].about;
}

const char *kp_ceiling_source_name(enum kp_ceiling_source source)
{
	return source_names[source];
}

static void set(struct kp_ceilings *ceilings, enum kp_ceiling_kind kind,
		enum kp_ceiling_source source, double value)
{
	if (value > 0)
		ceilings->of[kind] = (struct kp_ceiling){source, value, value, value};
}

static bool is_name(const struct kp_text *text, size_t skipped, const char *name)
{
	size_t length = strlen(name);

	return text->length == skipped + length && memcmp(text->bytes + skipped, name, length) == 0;
}

static const struct peaks *find_peaks(const struct kp_text *name)
{
	static const char *const brands[] = {"NVIDIA ", "Tesla "};
	size_t skipped = 0;

	for (size_t i = 0; i < sizeof(brands) / sizeof(brands[0]); i++) {
		size_t length = strlen(brands[i]);

		if (name->length > length && memcmp(name->bytes, brands[i], length) == 0)
			skipped = length;
	}
	for (size_t i = 0; i < sizeof(datasheet) / sizeof(datasheet[0]); i++)
		if (is_name(name, skipped, datasheet[i].name))
			return &datasheet[i];
	return NULL;
}

/* The memory transfers at both edges of its clock; a fused multiply-add is two operations. */
static void compute(const struct kp_device_info *device, struct kp_ceilings *out)
{
	if (KP_HAS(device, DEVICE, memory_clock_khz) && KP_HAS(device, DEVICE, memory_bus_bits)) {
		double gbps = 2.0 * (double)device->memory_clock_khz * 1e3 *
			      (double)device->memory_bus_bits / 8 / 1e9;

		set(out, KP_CEILING_READ, KP_CEILING_COMPUTED, gbps);
		set(out, KP_CEILING_WRITE, KP_CEILING_COMPUTED, gbps);
		set(out, KP_CEILING_COPY, KP_CEILING_COMPUTED, gbps);
	}
	if (!KP_HAS(device, DEVICE, sm_count) || !KP_HAS(device, DEVICE, sm_clock_khz) ||
	    !KP_HAS(device, DEVICE, compute_major) || !KP_HAS(device, DEVICE, compute_minor))
		return;
	for (size_t i = 0; i < sizeof(fp32_lanes) / sizeof(fp32_lanes[0]); i++) {
		double per_clock = 2.0 * fp32_lanes[i].lanes * (double)device->sm_count;

		if (fp32_lanes[i].major == device->compute_major &&
		    fp32_lanes[i].minor == device->compute_minor)
			set(out, KP_CEILING_FP32, KP_CEILING_COMPUTED,
			    per_clock * (double)device->sm_clock_khz * 1e3 / 1e12);
	}
}

void kp_ceilings_of_device(const struct kp_device_info *device, struct kp_ceilings *out)
{
	const struct peaks *peaks;

	memset(out, 0, sizeof(*out));
	if (!device || (KP_HAS(device, DEVICE, mig) && device->mig))
		return;
	compute(device, out);
	peaks = KP_HAS(device, DEVICE, name) ? find_peaks(&device->name) : NULL;
	for (int kind = 0; peaks && kind < KP_CEILING_COUNT; kind++)
		set(out, (enum kp_ceiling_kind)kind, KP_CEILING_DATASHEET,
		    peaks->values[kind > KP_CEILING_COPY ? kind - KP_CEILING_COPY : 0]);
}

void kp_ceilings_merge(struct kp_ceilings *ceilings, const struct kp_ceilings *other)
{
	for (int kind = 0; kind < KP_CEILING_COUNT; kind++)
		if (other->of[kind].source > ceilings->of[kind].source)
			ceilings->of[kind] = other->of[kind];
}

/* Between two ceilings, `part` of the way from `a` to `b`: time a byte is linear. */
static bool between(const struct kp_ceiling *a, const struct kp_ceiling *b, double part,
		    struct kp_ceiling *out)
{
	const struct kp_ceiling *ends[] = {a, b};
	const double weights[] = {1 - part, part};
	double value = 0, low = 0, high = 0;

	out->source = KP_CEILING_SOURCE_COUNT - 1;
	for (int i = 0; i < 2; i++) {
		if (weights[i] <= 0)
			continue;
		if (ends[i]->source == KP_CEILING_ABSENT)
			return false;
		if (ends[i]->source < out->source)
			out->source = ends[i]->source;
		value += weights[i] / ends[i]->value;
		low += weights[i] / ends[i]->low;
		high += weights[i] / ends[i]->high;
	}
	out->value = 1 / value;
	out->low = 1 / low;
	out->high = 1 / high;
	return true;
}

bool kp_ceilings_memory(const struct kp_ceilings *ceilings, double read_bytes, double write_bytes,
			struct kp_ceiling *out)
{
	const struct kp_ceiling *of = ceilings->of;
	double writes = write_bytes / (read_bytes + write_bytes);

	*out = (struct kp_ceiling){.source = KP_CEILING_ABSENT};
	if (!(read_bytes >= 0) || !(write_bytes >= 0) || !(read_bytes + write_bytes > 0) ||
	    !(writes <= 1))
		return false;
	struct kp_ceiling mixed;
	bool known = writes <= 0.5 ? between(&of[KP_CEILING_READ], &of[KP_CEILING_COPY], writes * 2,
					     &mixed)
				   : between(&of[KP_CEILING_COPY], &of[KP_CEILING_WRITE],
					     writes * 2 - 1, &mixed);
	if (known)
		*out = mixed;
	return known;
}

void kp_ceilings_find(const struct kp_ceilings_finder *finder, const struct kp_device_info *device,
		      const struct kp_text *driver_name, struct kp_ceilings *out)
{
	if (finder && finder->find && device)
		finder->find(finder->context, device, driver_name, out);
	else
		kp_ceilings_of_device(device, out);
}
