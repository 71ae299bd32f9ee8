/* Blocks that reside at once; see findings_occupancy.h. */
#include "analyzers/findings_occupancy.h"

#define WARP 32
/* Registers of a warp come in units of so many, on all chips since Kepler. */
#define REGISTER_UNIT 256
/* Warps come in fours to the parts of an SM that have registers of their own. */
#define WARP_UNIT 4
/* Shared memory comes in units of so many bytes; from compute capability 8 on the driver keeps a
 * kilobyte a block. */
#define SHARED_UNIT 128
#define SHARED_UNIT_OLD 256
#define SHARED_KEPT 1024

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t by_registers(const struct kp_device_info *device, uint64_t warps,
			     uint32_t registers)
{
	uint64_t of_warp = round_up((uint64_t)registers * WARP, REGISTER_UNIT);
	uint64_t resident = device->registers_per_sm / of_warp / WARP_UNIT * WARP_UNIT;

	return resident / warps;
}

static uint64_t by_shared(const struct kp_device_info *device, uint64_t bytes)
{
	bool newer = device->compute_major >= 8;
	uint64_t of_block =
		round_up(bytes + (newer ? SHARED_KEPT : 0), newer ? SHARED_UNIT : SHARED_UNIT_OLD);

	return of_block ? device->shared_bytes_per_sm / of_block : UINT64_MAX;
}

static bool is_known(const struct kp_device_info *device, const struct kp_launch_shape *launch)
{
	return device && KP_HAS(device, DEVICE, sm_count) && device->sm_count &&
	       KP_HAS(device, DEVICE, threads_per_sm) && device->threads_per_sm >= WARP &&
	       KP_HAS(device, DEVICE, blocks_per_sm) && KP_HAS(device, DEVICE, registers_per_sm) &&
	       KP_HAS(device, DEVICE, shared_bytes_per_sm) &&
	       KP_HAS(device, DEVICE, compute_major) && launch->blocks >= 1 &&
	       launch->threads >= 1 && launch->threads <= (double)device->threads_per_sm &&
	       launch->registers && launch->shared_bytes <= device->shared_bytes_per_sm;
}

bool kp_occupancy_of(const struct kp_device_info *device, const struct kp_launch_shape *launch,
		     struct kp_occupancy *out)
{
	uint64_t warps, blocks;

	*out = (struct kp_occupancy){0};
	if (!is_known(device, launch))
		return false;
	warps = round_up((uint64_t)launch->threads, WARP) / WARP;
	blocks = least(device->threads_per_sm / WARP / warps, device->blocks_per_sm);
	blocks = least(blocks, by_registers(device, warps, launch->registers));
	blocks = least(blocks, by_shared(device, launch->shared_bytes));
	if (!blocks)
		return false;
	uint64_t warps_per_sm = device->threads_per_sm / WARP;
	double sms = (double)device->sm_count, grid = launch->blocks;
	double capacity = (double)blocks * sms;
	out->blocks_per_sm = blocks;
	out->capacity = capacity;
	out->waves = grid / capacity;
	out->warps_pct = 100 * (double)(blocks * warps) / (double)warps_per_sm;
	out->sms_pct = grid < sms ? 100 * grid / sms : 100;
	out->resident_pct = out->warps_pct * (grid < capacity ? grid / capacity : 1);
	return true;
}
