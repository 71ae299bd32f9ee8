/* Sampling the hardware counters of one GPU; see pm_session.h. */
#include "inject/pm_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Room of the image, in samples. When it is full, CUPTI drops what it has read from the hardware
 * and found no room for: so it has room for two drains, and for a while in which the thread may not
 * run. Within limits: a sample takes 3 to 30 kB.
 */
#define DRAINS_PER_IMAGE 2
#define ROOM_MS 400
#define LEAST_ROOM 512
#define MOST_ROOM 32768
/* Of raw records in the hardware's own buffer, some 3.4 kB a sample of memory: two drains of the
 * fastest sampling and more. */
#define HARDWARE_BYTES (64U << 20)
/* So many images at most in one drain, so that a GPU that outruns the decoder cannot hold it. */
#define IMAGES_PER_DRAIN 64
/* The system clock of chips that are triggered by it, about: 1 GHz. */
#define CYCLES_PER_NS 1

/* ---- why not ---- */

static const struct {
	int result;
	const char *remedy;
} remedies[] = {
	{KP_PM_NO_PRIVILEGES, "allow it for all users (NVreg_RestrictProfilingToAdminUsers=0), or "
			      "run as root"},
	{KP_PM_HARDWARE_BUSY, "another tool holds them: stop it (DCGM: dcgmi profctl --pause)"},
	{KP_PM_NO_VGPU_PRIVILEGES, "enable profiling for this virtual GPU on its host"},
	{KP_PM_ON_VIRTUAL, "they are not available on a virtual GPU: use a whole one"},
	{KP_PM_ON_CONFIDENTIAL, "they are not available in confidential computing: switch it off"},
	{KP_PM_ON_MINING, "this GPU has none"},
	{KP_PM_ON_MIG, "they are not available on a slice of a GPU: switch MIG off"},
	{KP_PM_ON_SLI, "they are not available under SLI: switch it off"},
	{KP_PM_ON_WSL, "they are not available under WSL: run Linux itself"},
};

static void explain(const struct kp_pm_session *session, const char *what, int result,
		    char reason[KP_PM_REASON_BYTES])
{
	const char *remedy = "see kprof doctor";

	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (remedies[i].result == result)
			remedy = remedies[i].remedy;
	snprintf(reason, KP_PM_REASON_BYTES, "%s refuses: %.80s (%d); %s", what,
		 kp_pm_word(session->pm, result), result, remedy);
}

/* Runs one step of opening: on failure explains it and leaves the function. */
#define STEP(name, parameters)                                                                     \
	do {                                                                                       \
		int result_ = kp_pm_##name(session->pm, (parameters));                             \
		if (result_ != 0) {                                                                \
			explain(session, "cupti" #name, result_, reason);                          \
			return false;                                                              \
		}                                                                                  \
	} while (0)

static bool no_memory(char reason[KP_PM_REASON_BYTES])
{
	snprintf(reason, KP_PM_REASON_BYTES, "out of memory");
	return false;
}

/* ---- opening ---- */

static bool find_chip(struct kp_pm_session *session, size_t metrics,
		      char reason[KP_PM_REASON_BYTES])
{
	struct kp_pm_initialize initialize = {0};
	struct kp_pm_chip_name chip = {.device = session->device};

	STEP(ProfilerInitialize, &initialize);
	STEP(DeviceGetChipName, &chip);
	session->chip = kp_pm_chip_find(chip.name ? chip.name : "");
	if (!session->chip) {
		snprintf(reason, KP_PM_REASON_BYTES,
			 "kprof does not know the counters of the chip %.32s; use a newer kprof",
			 chip.name ? chip.name : "without a name");
		return false;
	}
	session->metrics = kp_pm_chip_names(session->chip, metrics, session->names, session->text);
	if (session->metrics == 0)
		snprintf(reason, KP_PM_REASON_BYTES,
			 "the chip %s cannot count bytes of its memory; --counter-set all "
			 "samples what it has",
			 session->chip->name);
	return session->metrics != 0;
}

/*
 * What CUPTI knows of the chip is enough, as a rule; to ask which counters this very GPU can give
 * takes 150 ms more.
 */
static bool open_host(struct kp_pm_session *session, const uint8_t *availability,
		      char reason[KP_PM_REASON_BYTES])
{
	struct kp_pm_host_initialize host = {
		.type = KP_PM_PROFILER_TYPE,
		.chip = session->chip->name,
		.availability = availability,
	};

	STEP(ProfilerHostInitialize, &host);
	session->host = host.host;
	return true;
}

static bool make_config(struct kp_pm_session *session, char reason[KP_PM_REASON_BYTES])
{
	struct kp_pm_host_metrics metrics = {
		.host = session->host, .names = session->names, .count = session->metrics};
	struct kp_pm_host_config_size size = {.host = session->host};
	struct kp_pm_host_config config = {.host = session->host};
	struct kp_pm_host_passes passes = {0};

	STEP(ProfilerHostConfigAddMetrics, &metrics);
	STEP(ProfilerHostGetConfigImageSize, &size);
	session->config_bytes = size.bytes;
	session->config = calloc(1, size.bytes + 1);
	if (!session->config)
		return no_memory(reason);
	config.bytes = passes.bytes = size.bytes;
	config.image = passes.image = session->config;
	STEP(ProfilerHostGetConfigImage, &config);
	STEP(ProfilerHostGetNumOfPasses, &passes);
	if (passes.passes == 1)
		return true;
	snprintf(reason, KP_PM_REASON_BYTES,
		 "this CUPTI needs %zu passes for the counters of %s; use a newer one",
		 passes.passes, session->chip->name);
	return false;
}

static bool make_image(struct kp_pm_session *session, char reason[KP_PM_REASON_BYTES])
{
	int result = kp_pm_image_open(&session->image, session->pm, session->object, session->names,
				      session->metrics, session->room);

	if (result == KP_PM_NO_MEMORY)
		return no_memory(reason);
	if (result != 0)
		explain(session, "cuptiPmSamplingGetCounterDataSize", result, reason);
	return result == 0;
}

static bool enable(struct kp_pm_session *session, char reason[KP_PM_REASON_BYTES])
{
	struct kp_pm_enable enable = {.device = session->device};
	struct kp_pm_config config = {
		.bytes = session->config_bytes,
		.image = session->config,
		.hardware_bytes = HARDWARE_BYTES,
		.interval = session->interval,
		.trigger = session->chip->trigger,
		.append = KP_PM_KEEP_OLDEST,
	};

	STEP(PmSamplingEnable, &enable);
	session->object = config.object = enable.object;
	STEP(PmSamplingSetConfig, &config);
	return make_image(session, reason);
}

static uint32_t room_for(const struct kp_pm_request *request)
{
	uint64_t interval_ns = request->interval_ns ? request->interval_ns : 1;
	uint64_t drains_ms = DRAINS_PER_IMAGE * request->drain_ms;
	uint64_t room = (drains_ms > ROOM_MS ? drains_ms : ROOM_MS) * 1000000ULL / interval_ns;

	if (room < LEAST_ROOM)
		return LEAST_ROOM;
	return room > MOST_ROOM ? MOST_ROOM : (uint32_t)room;
}

/* Everything from the configuration on. */
static bool set_up(struct kp_pm_session *session, const uint8_t *availability,
		   char reason[KP_PM_REASON_BYTES])
{
	if (open_host(session, availability, reason) && make_config(session, reason) &&
	    enable(session, reason))
		return true;
	kp_pm_session_close(session);
	return false;
}

/* Once more, for the counters that this GPU says it has. */
static bool set_up_available(struct kp_pm_session *session, char reason[KP_PM_REASON_BYTES])
{
	struct kp_pm_availability availability = {.device = session->device};
	bool done = false;
	int result;

	STEP(PmSamplingGetCounterAvailability, &availability);
	availability.image = calloc(1, availability.bytes + 1);
	if (!availability.image)
		return no_memory(reason);
	result = kp_pm_PmSamplingGetCounterAvailability(session->pm, &availability);
	if (result != 0)
		explain(session, "cuptiPmSamplingGetCounterAvailability", result, reason);
	else
		done = set_up(session, availability.image, reason);
	free(availability.image);
	return done;
}

bool kp_pm_session_open(struct kp_pm_session *session, const struct kp_pm *pm,
			const struct kp_pm_request *request, char reason[KP_PM_REASON_BYTES])
{
	*session = (struct kp_pm_session){
		.pm = pm,
		.device = request->device,
		.interval = request->interval_ns,
		.room = room_for(request),
	};
	if (!find_chip(session, request->metrics, reason))
		return false;
	if (session->chip->trigger == KP_PM_BY_CYCLES)
		session->interval *= CYCLES_PER_NS;
	return set_up(session, NULL, reason) || set_up_available(session, reason);
}

bool kp_pm_session_start(struct kp_pm_session *session, char reason[KP_PM_REASON_BYTES])
{
	struct kp_pm_object object = {.object = session->object};
	int result = kp_pm_image_begin(&session->image);

	session->taken = 0;
	if (result == 0)
		result = kp_pm_PmSamplingStart(session->pm, &object);
	if (result != 0) {
		explain(session, "starting the counters", result, reason);
		return false;
	}
	session->started = session->first = true;
	session->gap = session->samples != 0;
	return true;
}

/* ---- samples ---- */

static bool to_count(double value, uint64_t *out)
{
	if (!(value >= 0 && value < 0x1p63)) /* NaN is neither */
		return false;
	*out = (uint64_t)(value + 0.5);
	return true;
}

static bool evaluate(struct kp_pm_session *session, size_t number, struct kp_counter_sample *sample)
{
	double values[KP_METRIC_COUNT] = {0};
	struct kp_pm_host_evaluate evaluate = {
		.host = session->host,
		.image = session->image.data,
		.bytes = session->image.bytes,
		.sample = number,
		.names = session->names,
		.count = session->metrics,
		.values = values,
	};

	if (kp_pm_ProfilerHostEvaluateToGpuValues(session->pm, &evaluate) != 0)
		return false;
	for (size_t i = 0; i < session->metrics; i++)
		if (!to_count(values[i], &sample->values[i]))
			return false;
	return true;
}

/* Whether these times can follow those of the sample before. */
static bool follows(struct kp_pm_session *session, const struct kp_counter_sample *sample)
{
	if (kp_time_quality(sample->begin_ns, sample->end_ns) != KP_TIME_VALID ||
	    sample->begin_ns < session->last_end_ns)
		return false;
	if (session->last_end_ns && sample->begin_ns != session->last_end_ns)
		session->gap = true;
	return true;
}

static void deliver(struct kp_pm_session *session, size_t number, kp_pm_take take, void *context)
{
	struct kp_pm_sample_info info = {.object = session->object,
					 .image = session->image.data,
					 .bytes = session->image.bytes,
					 .sample = number};
	struct kp_counter_sample sample = {0};
	int result = kp_pm_PmSamplingCounterDataGetSampleInfo(session->pm, &info);

	sample.begin_ns = info.begin_ns;
	sample.end_ns = info.end_ns;
	if (result == 0 && session->first) {
		session->first = false;
		session->left_out++;
		session->last_end_ns = sample.end_ns;
		return;
	}
	if (result != 0 || !follows(session, &sample) ||
	    !(session->timed_only || evaluate(session, number, &sample))) {
		session->invalid++;
		session->gap = true;
		return;
	}
	session->last_end_ns = sample.end_ns;
	if (session->gap && session->samples) {
		sample.flags = KP_SAMPLE_AFTER_GAP;
		session->gaps++;
	}
	session->gap = false;
	if (!session->samples++)
		session->begin_ns = sample.begin_ns;
	session->last_ns = sample.end_ns;
	take(context, &sample);
}

/*
 * Empties the image once all samples in it are whole, and when it would not do any longer: what
 * there is of the one that is not is lost then.
 */
static int clear(struct kp_pm_session *session, const struct kp_pm_data_info *info, bool full)
{
	bool whole = info->populated == info->completed;

	if (!full && info->populated <= (whole ? 0 : session->room / 2))
		return 0;
	session->taken = 0;
	return kp_pm_image_clear(&session->image, info->populated);
}

/* Decodes once; *more: there may be more to decode at once. Returns CUPTI's result. */
static int decode(struct kp_pm_session *session, kp_pm_take take, void *context, bool *more)
{
	uint8_t *image = session->image.data;
	size_t bytes = session->image.bytes;
	struct kp_pm_decode decode = {.object = session->object, .image = image, .bytes = bytes};
	struct kp_pm_data_info info = {.image = image, .bytes = bytes};
	int result = kp_pm_PmSamplingDecodeData(session->pm, &decode);

	*more = false;
	if (result == 0 && decode.overflow)
		session->overflows++;
	if (result != 0 || kp_pm_PmSamplingGetCounterDataInfo(session->pm, &info) != 0)
		return result;
	while (session->taken < info.completed)
		deliver(session, session->taken++, take, context);
	if (decode.stop_reason == KP_PM_STOP_FULL) {
		session->gap = true;
		*more = true;
	}
	return clear(session, &info, *more);
}

static void halt(struct kp_pm_session *session)
{
	struct kp_pm_object object = {.object = session->object};

	kp_pm_PmSamplingStop(session->pm, &object);
	session->started = false;
}

/* The hardware's buffer ran over, and CUPTI wants a new start: a gap. */
static bool start_over(struct kp_pm_session *session)
{
	char reason[KP_PM_REASON_BYTES];

	session->overflows++;
	halt(session);
	return kp_pm_session_start(session, reason);
}

bool kp_pm_session_drain(struct kp_pm_session *session, kp_pm_take take, void *context)
{
	bool more = session->started;

	for (unsigned i = 0; more && i < IMAGES_PER_DRAIN; i++) {
		int result = decode(session, take, context, &more);

		if (result == KP_PM_OUT_OF_MEMORY)
			return start_over(session);
		if (result != 0) {
			halt(session);
			return false;
		}
	}
	return session->started;
}

void kp_pm_session_stop(struct kp_pm_session *session, kp_pm_take take, void *context)
{
	bool more = session->started;

	if (!session->started)
		return;
	halt(session);
	for (unsigned i = 0; more && i < IMAGES_PER_DRAIN; i++)
		if (decode(session, take, context, &more) != 0)
			break;
}

void kp_pm_session_close(struct kp_pm_session *session)
{
	struct kp_pm_object object = {.object = session->object};
	struct kp_pm_host_only host = {.host = session->host};

	if (session->object)
		kp_pm_PmSamplingDisable(session->pm, &object);
	if (session->host)
		kp_pm_ProfilerHostDeinitialize(session->pm, &host);
	kp_pm_image_close(&session->image);
	free(session->config);
	session->object = session->host = NULL;
	session->config = NULL;
}
