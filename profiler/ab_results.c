/* Reading the lines of an A/B run; see ab_results.h. */
#include "profiler/ab_results.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trier.h"
#include "trace/vector.h"

/* ---- values ---- */

/* A whole number from 0; *good becomes false where it is none. */
static uint64_t whole(const cJSON *map, const char *key, bool *good)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(map, key);

	if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1.8e19)
		return (uint64_t)item->valuedouble;
	*good = false;
	return 0;
}

/* NaN for null and for what is missing. */
static double real(const cJSON *item)
{
	if (cJSON_IsString(item))
		return strcmp(item->valuestring, "inf") == 0    ? INFINITY
		       : strcmp(item->valuestring, "-inf") == 0 ? -INFINITY
								: NAN;
	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static double real_of(const cJSON *map, const char *key)
{
	return real(cJSON_GetObjectItemCaseSensitive(map, key));
}

static struct kp_ab_rule_result *rule_of(struct kp_ab_results *results, const cJSON *map)
{
	bool good = true;
	uint64_t rule = whole(map, "rule", &good);

	return good && rule < KP_AB_RULES_MOST ? &results->rules[rule] : NULL;
}

/* ---- lines ---- */

/* A process counts once, at its end. */
static bool add_counts(struct kp_ab_results *results, const cJSON *map)
{
	struct kp_ab_rule_result *rule = rule_of(results, map);
	bool good = rule != NULL;

	for (int i = 0; good && i < KP_AB_COUNT_COUNT; i++)
		rule->counts[i] += whole(map, kp_ab_count_names[i], &good);
	for (int i = 0; good && i < KP_AB_REASON_COUNT; i++)
		rule->reasons[i] += whole(map, kp_ab_reason_names[i], &good);
	return good;
}

static double larger(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

static double smaller(double a, double b)
{
	return isnan(a) || b < a ? b : a;
}

static void take_worst(struct kp_ab_accuracy *accuracy, const cJSON *list)
{
	const cJSON *row;

	accuracy->worst_count = 0;
	cJSON_ArrayForEach(row, list)
	{
		struct kp_ab_worst *worst = &accuracy->worst[accuracy->worst_count];

		if (accuracy->worst_count == KP_AB_WORST || cJSON_GetArraySize(row) != 4)
			return;
		worst->row = (uint64_t)fabs(real(cJSON_GetArrayItem(row, 0)));
		worst->column = (uint64_t)fabs(real(cJSON_GetArrayItem(row, 1)));
		worst->original = real(cJSON_GetArrayItem(row, 2));
		worst->candidate = real(cJSON_GetArrayItem(row, 3));
		accuracy->worst_count++;
	}
}

static void add_truth(struct kp_ab_accuracy *accuracy, const cJSON *map)
{
	bool good = true;
	uint64_t elements = whole(map, "elements", &good);
	double rms = real_of(map, "rms"), original = real_of(map, "rms_original");
	double candidate = real_of(map, "rms_candidate");

	if (!good || elements == 0 || isnan(rms + original + candidate))
		return;
	accuracy->truth_elements += elements;
	accuracy->truth2 += rms * rms * (double)elements;
	accuracy->truth_original2 += original * original * (double)elements;
	accuracy->truth_candidate2 += candidate * candidate * (double)elements;
}

static bool add_output(struct kp_ab_rule_result *rule, const cJSON *map)
{
	bool good = true;
	uint64_t data = whole(map, "data", &good), elements, mismatches, ulps;
	struct kp_ab_accuracy *accuracy =
		&rule->accuracy[good && data < KP_AB_TENSORS_MOST ? data : 0];
	double off = real_of(map, "max_abs");
	bool first = !accuracy->seen;

	elements = whole(map, "elements", &good);
	mismatches = whole(map, "mismatches", &good);
	ulps = whole(map, "max_ulps", &good);
	if (!good || data >= KP_AB_TENSORS_MOST)
		return false;
	if (first)
		accuracy->max_abs = accuracy->rms = accuracy->rms_original = accuracy->cosine =
			accuracy->noise_rms = NAN;
	/* Elements that are wrong tell more than those that are far off. */
	if (first || mismatches > 0 || (accuracy->mismatches == 0 && off > accuracy->max_abs))
		take_worst(accuracy, cJSON_GetObjectItemCaseSensitive(map, "worst"));
	accuracy->seen = true;
	accuracy->elements += elements;
	accuracy->mismatches += mismatches;
	accuracy->mask_different += whole(map, "mask_different", &good);
	accuracy->outside += whole(map, "outside", &good);
	accuracy->max_ulps = ulps > accuracy->max_ulps ? ulps : accuracy->max_ulps;
	accuracy->max_abs = larger(accuracy->max_abs, off);
	accuracy->rms = larger(accuracy->rms, real_of(map, "rms"));
	accuracy->rms_original = larger(accuracy->rms_original, real_of(map, "rms_original"));
	accuracy->cosine = smaller(accuracy->cosine, real_of(map, "cosine"));
	accuracy->noise_rms = larger(accuracy->noise_rms, real_of(map, "noise_rms"));
	add_truth(accuracy, cJSON_GetObjectItemCaseSensitive(map, "truth"));
	return good;
}

static bool add_shadow(struct kp_ab_results *results, const cJSON *map)
{
	struct kp_ab_rule_result *rule = rule_of(results, map);
	const cJSON *fault = cJSON_GetObjectItemCaseSensitive(map, "fault"), *output;
	const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(map, "inputs");
	bool good = rule != NULL;

	if (!good)
		return false;
	rule->shadows++;
	for (int i = 0; cJSON_IsString(inputs) && i < KP_AB_EXTRA_COUNT; i++)
		rule->extras[i] += strcmp(inputs->valuestring, kp_ab_extra_names[i]) == 0;
	if (cJSON_IsString(fault) && rule->wrong++ == 0) {
		snprintf(rule->fault, sizeof(rule->fault), "%s", fault->valuestring);
		if (cJSON_IsString(inputs))
			snprintf(rule->fault_inputs, sizeof(rule->fault_inputs), "%s",
				 inputs->valuestring);
	}
	cJSON_ArrayForEach(output, cJSON_GetObjectItemCaseSensitive(map, "outputs")) good &=
		add_output(rule, output);
	return good;
}

/* A shape in a process: its pairs are its own. */
static uint64_t group_of(const cJSON *map, bool *good)
{
	const cJSON *shape = cJSON_GetObjectItemCaseSensitive(map, "shape");
	uint64_t pid = whole(map, "pid", good);

	*good &= cJSON_IsString(shape);
	return *good ? strtoull(shape->valuestring, NULL, 16) ^ pid * 0x9e3779b97f4a7c15ULL : 0;
}

static bool add_time(struct kp_ab_times *times, const cJSON *map)
{
	bool good = true;
	struct kp_ab_time time = {
		.group = group_of(map, &good),
		.number = whole(map, "number", &good),
		.us = real_of(map, "us"),
		.candidate = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(map, "candidate")),
	};

	if (!good || !(time.us >= 0) ||
	    !kp_vector_grow((void **)&times->times, times->count, &times->capacity, sizeof(time)))
		return false;
	if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(map, "host_bound"))) {
		times->host_bound++;
		return true;
	}
	times->times[times->count++] = time;
	times->by[time.candidate]++;
	return true;
}

static bool add_sample(struct kp_ab_results *results, const cJSON *map)
{
	struct kp_ab_rule_result *rule = rule_of(results, map);

	return rule && add_time(&rule->times, map);
}

static bool add_replay(struct kp_ab_results *results, const cJSON *map)
{
	struct kp_ab_rule_result *rule = rule_of(results, map);
	bool good = rule != NULL;
	uint64_t replaced = whole(map, "replaced", &good);
	uint64_t launches = whole(map, "launches", &good);

	if (!good || launches == 0 || !add_time(&rule->replays, map))
		return false;
	rule->replays_replaced += replaced;
	rule->replays_launches += launches;
	return true;
}

static bool add_phase(struct kp_ab_results *results, const cJSON *map)
{
	bool good = true;
	struct kp_ab_phase phase = {
		.pid = whole(map, "pid", &good),
		.number = whole(map, "number", &good),
		.eligible = whole(map, "eligible", &good),
		.units = whole(map, "units", &good),
		.us = real_of(map, "us"),
		.candidate = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(map, "candidate")),
	};

	if (!good || phase.units == 0 || !(phase.us >= 0) ||
	    !kp_vector_grow((void **)&results->phases, results->phase_count,
			    &results->phase_capacity, sizeof(phase)))
		return false;
	results->phases[results->phase_count++] = phase;
	return true;
}

static bool add_process(struct kp_ab_results *results, const cJSON *map)
{
	bool good = true;

	good = whole(map, "version", &good) == KP_AB_RESULTS_VERSION && good;
	results->processes += good;
	return good;
}

static bool add_trial(struct kp_ab_results *results, const cJSON *map)
{
	struct kp_ab_rule_result *rule = rule_of(results, map);
	const cJSON *fault = cJSON_GetObjectItemCaseSensitive(map, "fault");
	bool good = rule != NULL;
	uint64_t error = whole(map, "error", &good);
	enum kp_ab_trial_fault id =
		cJSON_IsString(fault) ? kp_trial_fault_of(fault->valuestring) : KP_AB_TRIAL_NONE;

	if (!good || id == KP_AB_TRIAL_FAULT_COUNT)
		return false;
	rule->trials += id == KP_AB_TRIAL_NONE;
	if (rule->trial_fault == KP_AB_TRIAL_NONE) {
		rule->trial_fault = id;
		rule->trial_error = (int)error;
	}
	return true;
}

/* Each once: several processes load the same. */
static bool add_module(struct kp_ab_results *results, const cJSON *map)
{
	struct kp_ab_rule_result *rule = rule_of(results, map);
	const cJSON *hash = cJSON_GetObjectItemCaseSensitive(map, "hash");
	struct kp_ab_module module = {
		.fits = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(map, "fits"))};
	size_t i = 0;

	if (!rule || !cJSON_IsString(hash))
		return false;
	module.hash = strtoull(hash->valuestring, NULL, 16);
	while (i < rule->module_count && rule->modules[i].hash != module.hash)
		i++;
	if (i == rule->module_count && i < KP_AB_MODULES_MOST)
		rule->modules[rule->module_count++] = module;
	return true;
}

static const struct {
	const char *key;
	bool (*add)(struct kp_ab_results *results, const cJSON *map);
} kinds[] = {
	{"ab", add_process},    {"counts", add_counts}, {"shadow", add_shadow},
	{"sample", add_sample}, {"phase", add_phase},   {"replay", add_replay},
	{"trial", add_trial},   {"module", add_module},
};

static void add_line(struct kp_ab_results *results, const char *line)
{
	cJSON *document = cJSON_Parse(line);
	bool good = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const cJSON *map = cJSON_GetObjectItemCaseSensitive(document, kinds[i].key);

		if (map)
			good = kinds[i].add(results, map);
	}
	results->lines_bad += !good;
	cJSON_Delete(document);
}

enum kp_status kp_ab_results_read(const char *path, struct kp_ab_results **out)
{
	struct kp_ab_results *results = calloc(1, sizeof(*results));
	FILE *file = results ? fopen(path, "rbe") : NULL;
	char *line = NULL;
	size_t room = 0;

	*out = results;
	if (!file) {
		free(results);
		*out = NULL;
		return results ? KP_IO : KP_NO_MEMORY;
	}
	while (getline(&line, &room, file) > 0)
		add_line(results, line);
	free(line);
	fclose(file);
	return KP_OK;
}

void kp_ab_results_destroy(struct kp_ab_results *results)
{
	if (!results)
		return;
	for (size_t i = 0; i < KP_AB_RULES_MOST; i++) {
		free(results->rules[i].times.times);
		free(results->rules[i].replays.times);
	}
	free(results->phases);
	free(results);
}
