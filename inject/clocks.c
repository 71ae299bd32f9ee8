/* Readings of clocks; see clocks.h. */
#include "inject/clocks.h"

#include <string.h>

#include "device/nvml.h"
#include "inject/state.h"
#include "inject/windows.h"

#define PERIOD_NS 250000000ULL
#define DEVICE_LIMIT 32

static struct {
	struct kp_nvml nvml;
	enum { NEW, STARTED, ABSENT } state;
	struct {
		char pci[32];
		uint32_t ordinal;
		bool sought;  /* in NVML */
		void *handle; /* NULL: NVML does not know it */
	} devices[DEVICE_LIMIT];
	unsigned count;
	uint64_t due_ns; /* when the next reading is due; 0: not yet known */
} clocks;

void kp_clocks_watch(const struct kp_device_info *info)
{
	unsigned at = clocks.count;

	if (!kp_inject.settings.clocks || at == DEVICE_LIMIT || !KP_HAS(info, DEVICE, pci) ||
	    info->pci.length >= sizeof(clocks.devices[at].pci))
		return;
	memset(&clocks.devices[at], 0, sizeof(clocks.devices[at]));
	memcpy(clocks.devices[at].pci, info->pci.bytes, info->pci.length);
	clocks.devices[at].ordinal = (uint32_t)info->device;
	clocks.count++;
}

static void read_device(struct kp_writer *writer, unsigned at)
{
	struct kp_clocks reading = {.device = clocks.devices[at].ordinal};

	if (!clocks.devices[at].sought) {
		clocks.devices[at].sought = true;
		clocks.devices[at].handle = kp_nvml_find(&clocks.nvml, clocks.devices[at].pci);
	}
	reading.start_ns = kp_clock_now();
	kp_nvml_read(&clocks.nvml, clocks.devices[at].handle, &reading);
	reading.end_ns = kp_clock_now();
	if (reading.has)
		kp_writer_clocks(writer, &reading);
}

/* Whether the program is looked at now; between the windows of a duty it is, too. */
static bool is_looked_at(void)
{
	unsigned recording = atomic_load(&kp_windows_recording);

	return (recording & KP_RECORDING_MASK) == KP_RECORDING_ON || kp_windows_has_duty();
}

void kp_clocks_tick(struct kp_writer *writer)
{
	uint64_t now_ns = kp_clock_now();

	if (clocks.due_ns == 0)
		clocks.due_ns = now_ns + PERIOD_NS;
	if (clocks.count == 0 || clocks.state == ABSENT || now_ns < clocks.due_ns)
		return;
	clocks.due_ns = now_ns + PERIOD_NS;
	if (!is_looked_at())
		return;
	if (clocks.state == NEW) {
		clocks.state = ABSENT; /* to a child that is forked meanwhile, too */
		if (kp_nvml_open(&clocks.nvml))
			clocks.state = STARTED;
	}
	for (unsigned i = 0; i < clocks.count && clocks.state == STARTED; i++)
		read_device(writer, i);
}

void kp_clocks_forget(void)
{
	bool used = clocks.state != NEW;

	memset(&clocks, 0, sizeof(clocks));
	clocks.state = used ? ABSENT : NEW;
}
