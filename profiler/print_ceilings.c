/* Ceilings as text, for people; see bench_ceilings.h. */
#include <inttypes.h>
#include <string.h>

#include "profiler/bench_ceilings.h"
#include "profiler/humanise.h"
#include "profiler/text.h"

/* The key of a kind without its unit, with spaces: «tensor bf16». */
static void label_of(enum kp_ceiling_kind kind, char label[32])
{
	snprintf(label, 32, "%s", kp_ceiling_key(kind));
	*strrchr(label, '_') = '\0';
	for (char *at = label; (at = strchr(at, '_'));)
		*at = ' ';
}

/* Four significant digits, but whole numbers from 1000 on. */
static void print_value(FILE *file, double value)
{
	int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;

	fprintf(file, " %7.*f", decimals, value);
}

static void print_try(FILE *file, const struct kp_try *try, const struct kp_ceiling *sheet)
{
	char label[32], percent[32] = "-", clock[32] = "-";

	label_of(try->kind, label);
	if (sheet->source != KP_CEILING_ABSENT)
		snprintf(percent, sizeof(percent), "%.1f%%",
			 100 * try->ceiling.value / sheet->value);
	if (try->sm_mhz)
		snprintf(clock, sizeof(clock), "%" PRIu32, try->sm_mhz);
	fprintf(file, "%-11s", label);
	print_value(file, try->ceiling.value);
	print_value(file, try->ceiling.low);
	print_value(file, try->ceiling.high);
	fprintf(file, " %-7s %7s %5s %s\n", kp_ceiling_unit(try->kind), percent, clock, try->how);
}

void kp_print_ceilings(FILE *file, const struct kp_gpu *gpu, const struct kp_measured *measured,
		       bool all)
{
	struct kp_ceilings sheet;
	char name[512];

	kp_ceilings_of_device(&gpu->info, &sheet);
	kp_text_visible(name, sizeof(name), gpu->name, strlen(gpu->name));
	fprintf(file, "GPU        %s, %" PRIu64 " SMs, %s, device %d\n", name, gpu->info.sm_count,
		kp_human_bytes(gpu->info.memory_bytes, 4).text, gpu->ordinal);
	fprintf(file, "Driver     %s, CUDA %d.%d\n",
		gpu->driver->release[0] ? gpu->driver->release : "unknown release",
		gpu->driver->cuda_version / 1000, gpu->driver->cuda_version % 1000 / 10);
	fprintf(file,
		"Measured   %d repetitions each after a warm-up, random data, clocks as found\n\n",
		KP_TIMER_REPETITIONS);
	fprintf(file, "%-11s %7s %7s %7s %-7s %7s %5s %s\n", "Ceiling", "Median", "Least", "Most",
		"Unit", "Of peak", "MHz", "By");
	for (size_t i = 0; i < measured->count; i++) {
		const struct kp_try *try = &measured->tries[i];

		if (all || try == kp_measured_best(measured, try->kind))
			print_try(file, try, &sheet.of[try->kind]);
	}
	fprintf(file, "\nPeak: %s.\n",
		sheet.of[KP_CEILING_READ].source == KP_CEILING_DATASHEET ? "of the datasheet"
		: sheet.of[KP_CEILING_READ].source == KP_CEILING_COMPUTED
			? "computed from clocks and widths, for the datasheet is not known"
			: "not known");
}
