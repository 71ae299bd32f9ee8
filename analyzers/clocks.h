/*
 * What the clocks, the power and the temperature of a GPU were: a summary of NVML's readings.
 *
 * Readings are taken at equal intervals, so that a share of readings is a share of time. Those in
 * which NVML calls the GPU idle are counted, and left out of everything else: an idle GPU lowers
 * its clocks, and that says nothing of kernels. Where all are idle, all are summarised.
 */
#ifndef KP_ANALYZERS_CLOCKS_H
#define KP_ANALYZERS_CLOCKS_H

#include <stdbool.h>

#include "trace/arena.h"
#include "trace/records.h"
#include "trace/status.h"

#define KP_THROTTLE_IDLE 0x1ULL /* NVML's bit for a GPU that is idle */

/*
 * X(NAME, bit, key, title): NVML's bits of reasons for which clocks are lower than they could be,
 * as far as they slow kernels down against somebody's will. The key is that of YAML.
 */
#define KP_THROTTLE_REASONS(X)                                                                     \
	X(POWER_CAP, 0x4, "power_cap", "power limit")                                              \
	X(SLOWDOWN, 0x8, "hardware_slowdown", "hardware slowdown")                                 \
	X(SYNC_BOOST, 0x10, "sync_boost", "clocks kept with other GPUs")                           \
	X(THERMAL_SOFTWARE, 0x20, "thermal_software", "temperature")                               \
	X(THERMAL_HARDWARE, 0x40, "thermal_hardware", "temperature (hardware)")                    \
	X(POWER_BRAKE, 0x80, "power_brake", "power brake")

enum kp_throttle_reason {
#define KP_THROTTLE_ROW(NAME, bit, key, title) KP_THROTTLE_##NAME,
	KP_THROTTLE_REASONS(KP_THROTTLE_ROW)
#undef KP_THROTTLE_ROW
		KP_THROTTLE_COUNT
};

const char *kp_throttle_key(enum kp_throttle_reason reason);
const char *kp_throttle_title(enum kp_throttle_reason reason);

/* Of a range: whether anything is known, least, median (0 where it is not kept), mean and most. */
struct kp_clocks_range {
	bool known;
	uint32_t least, median, most;
	double mean;
};

struct kp_clocks_summary {
	uint64_t readings,
		idle; /* in all; of these, of an idle GPU. 0 readings: nothing is known */
	struct kp_clocks_range sm_mhz, memory_mhz, power_mw, temperature_c;
	double reading_mean_ns; /* how long NVML took to answer, of all readings; */
	uint64_t reading_most_ns;
	bool throttle_known;
	double throttled_pct; /* of the readings: for any of the reasons below */
	double reason_pct[KP_THROTTLE_COUNT];
};

struct kp_clocks_tally;

/* Adds a reading; *tally is made in the arena when it is NULL. Errors: KP_NO_MEMORY. */
enum kp_status kp_clocks_add(struct kp_clocks_tally **tally, const struct kp_clocks *reading,
			     struct kp_arena *arena);
/* Adds all readings of `other`, NULL allowed. Errors: KP_NO_MEMORY. */
enum kp_status kp_clocks_merge(struct kp_clocks_tally **tally, const struct kp_clocks_tally *other,
			       struct kp_arena *arena);
/* NULL: no readings. */
void kp_clocks_summarise(const struct kp_clocks_tally *tally, struct kp_clocks_summary *out);

#endif
