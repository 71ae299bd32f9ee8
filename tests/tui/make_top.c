/*
 * Writes what a watcher would have seen of two processes that decode on two GPUs, for the screens
 * of kprof top: the collector's own sums over launches that are made up here, the same each time.
 * Into a second file goes one process with rules of A/B, one of which was switched off.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "inject/tally.h"
#include "trace/board_file.h"
#include "trace/board_history.h"

#define SECOND KP_BOARD_SECOND_NS
#define BEGIN_S 5000U
#define UNTIL_S 5090U

/* One token: kernels in their order, with how long each takes. */
static const struct {
	const char *name;
	uint64_t duration_ns;
	unsigned times; /* in a row */
} token[] = {
	{"_Z16embedding_kernelP13__nv_bfloat16PKS_PKimi", 2600, 1},
	{"_Z18inverse_rms_kernelPfPK13__nv_bfloat16i", 3900, 2},
	{"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", 41700, 8},
	{"nvjet_sm90_tst_128x8_64x12_2x1_v_bz_splitK_TNT", 27300, 4},
	{"_Z11rope_kernelP13__nv_bfloat16PKi6layoutm", 4400, 4},
	{"_Z19cache_append_kernelP13__nv_bfloat16PKS_PKi6layoutm", 2900, 4},
	{"_Z14softmax_kernelP13__nv_bfloat16PKiiif", 18400, 4},
	{"_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_11FillFunctorIlEESt5arrayIPcLm1EEEEv"
	 "iT0_T1_",
	 2100, 1},
	{"triton_poi_fused_mul_silu_0", 4700, 4},
	{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 21900, 2},
	{"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c108BFloat16ENS0_9ArgMaxOpsIfEEjlL"
	 "i4ELi4EEEEEvT1_",
	 8800, 1},
};
#define SOFTMAX 6
#define KINDS (sizeof(token) / sizeof(token[0]))

/* `more_ns`: of each softmax. */
static uint64_t decode(struct kp_tally *tally, uint32_t device, uint64_t at_ns, uint64_t more_ns)
{
	uint64_t begin_ns = at_ns;

	for (size_t i = 0; i < KINDS; i++)
		for (unsigned k = 0; k < token[i].times; k++) {
			uint64_t took_ns = token[i].duration_ns + (i == SOFTMAX ? more_ns : 0);

			kp_tally_kernel(tally, token[i].name, device, at_ns, at_ns + took_ns);
			at_ns += took_ns + 900;
		}
	kp_tally_range(tally, "decode", 6, begin_ns, at_ns);
	return at_ns;
}

/* How many tokens there are in a second: fewer now and then, none for a while. */
static unsigned tokens_of(uint64_t second, unsigned process)
{
	unsigned phase = (unsigned)(second + process * 7) % 30;

	return phase == 20 ? 0 : phase > 22 ? 300 : 900;
}

/* ---- rules ---- */

/* What rules fit so many launches of a token, and how these went. */
static const struct rule {
	const char *name;
	unsigned fits;
	bool wrong, seen;
	unsigned off_s; /* ago; 0: it is on */
} rules[] = {
	{"torch-softmax-bf16", 4, false, true, 12},
	{"linear-skinny", 12, false, true, 0},
	{"llm-decode-rope", 4, true, true, 0},
	{"a-rule-of-ones-own-with-quite-a-long-name", 0, false, true, 0},
	{"torch-rms-norm-bf16", 0, false, false, 0},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

/* The first is off since a while, and the program is slower for it. */
static bool is_off(uint64_t second)
{
	return second >= UNTIL_S - rules[0].off_s;
}

static unsigned tokens_with_rules(uint64_t second)
{
	return is_off(second) ? 950 : 1000;
}

static void fill_rule(struct kp_board_rule *out, const struct rule *rule)
{
	uint64_t switched = rule->off_s ? UNTIL_S - rule->off_s : 0;

	snprintf(out->name, sizeof(out->name), "%s", rule->name);
	out->wrong = rule->wrong;
	out->off = rule->off_s != 0;
	out->begun_ns = BEGIN_S * SECOND;
	out->switched_ns = switched * SECOND + SECOND / 4 * (switched != 0);
	for (uint64_t second = BEGIN_S; second < UNTIL_S; second++) {
		uint64_t fitted = (uint64_t)rule->fits * tokens_with_rules(second);
		bool on = !rule->wrong && (!switched || second < switched);

		kp_board_rule_add(out, second, fitted, on ? fitted : 0);
		out->fitted += fitted;
		out->replaced += on ? fitted : 0;
		out->seen += fitted + (rule->seen ? 7 : 0);
	}
	out->compared = rule->seen && rule->fits ? 40 : 0;
}

static void describe(struct kp_tally *tally, uint32_t device)
{
	static const char *const uuids[] = {"GPU-0a", "GPU-0b"};
	static const char name[] = "NVIDIA H200";
	struct kp_device_info info = {0};

	KP_SET(&info, DEVICE, device, device);
	KP_SET(&info, DEVICE, name, ((struct kp_text){name, strlen(name)}));
	KP_SET(&info, DEVICE, uuid, ((struct kp_text){uuids[device], strlen(uuids[device])}));
	kp_tally_describe(tally, &info);
}

static const struct kp_board_image *fill(struct kp_tally *tally, unsigned process, bool ruled)
{
	struct kp_board_image *image;

	describe(tally, process);
	for (uint64_t second = BEGIN_S; second < UNTIL_S; second++) {
		uint64_t at_ns = second * SECOND;
		kp_tally_set_now(tally, at_ns);
		for (unsigned i = ruled ? tokens_with_rules(second) : tokens_of(second, process);
		     i > 0; i--)
			at_ns = decode(tally, process, at_ns, ruled && is_off(second) ? 9000 : 0) +
				20000;
	}
	kp_tally_range(tally, "prefill", 7, BEGIN_S * SECOND, BEGIN_S * SECOND + 12345678);
	image = kp_tally_image(tally);
	for (size_t i = 0; ruled && i < RULES; i++)
		fill_rule(&image->rules[i], &rules[i]);
	image->head.rule_count = ruled ? RULES : 0;
	image->head.process = 77 + process;
	image->head.pid = 4242 + process;
	image->head.state = KP_BOARD_RUNNING;
	image->head.published_ns = image->head.settled_ns = UNTIL_S * SECOND;
	image->head.issued_known = 1;
	return image;
}

/* `count` processes into a file; false: it failed. */
static bool save(const char *path, unsigned count, bool ruled)
{
	struct kp_tally *tallies[2] = {kp_tally_create(BEGIN_S * SECOND),
				       kp_tally_create(BEGIN_S * SECOND)};
	const struct kp_board_image *images[2];
	FILE *file = fopen(path, "wb");
	bool done = file && tallies[0] && tallies[1];

	for (unsigned i = 0; i < count && done; i++)
		images[i] = fill(tallies[i], i, ruled);
	done = done && kp_board_file_write(file, images, count) == KP_OK;
	done = (!file || fclose(file) == 0) && done;
	kp_tally_destroy(tallies[0]);
	kp_tally_destroy(tallies[1]);
	return done;
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3 || !save(argv[1], 2, false))
		return 1;
	return argc == 3 && !save(argv[2], 1, true);
}
