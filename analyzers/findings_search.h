/*
 * What those who look for findings share: private to findings*.c. Each looks at the report, and
 * adds what it finds; findings_resolve.c then sees to it that they agree.
 */
#ifndef KP_ANALYZERS_FINDINGS_SEARCH_H
#define KP_ANALYZERS_FINDINGS_SEARCH_H

#include "analyzers/findings_remedies.h"
#include "analyzers/report.h"

/* Rows with less of kernel time, and waits with less of the span, are not worth a finding. */
#define KP_FINDING_LEAST_PCT 5.0
/* Below this part of the time the GPU waits more than kernels can win. */
#define KP_BUSY_ENOUGH_PCT 60.0
/* Of a ceiling: what good kernels commonly reach; from where on one is near it. */
#define KP_CEILING_REACHED_PCT 80.0
#define KP_NEAR_LIMIT_PCT 80.0

struct kp_search {
	const struct kp_report *report;
	const struct kp_findings_options *options;
	struct kp_arena *arena;
	struct kp_finding *items; /* on the heap */
	size_t count, capacity;
	struct kp_finding spare; /* without memory */
	enum kp_status status;   /* sticky */
	enum kp_framework framework;
	/* The time in which a kernel runs: of iterations, where these have most of it. */
	double busy_pct;
	bool steady; /* it is that of iterations */
	bool mostly_idle;
	double gap_ns[KP_GAP_CAUSE_COUNT]; /* over all GPUs; 0 without a timeline */
	double paced; /* part of the time in which a faster kernel makes the next one begin earlier
		       */
	double *claimed_ns;  /* of each kernel, what findings so far promise at most; on the heap */
	double chained_part; /* of the time of tiny kernels, what is part of chains */
	const struct kp_device_info *device; /* NULL: not known, or GPUs differ */
	struct kp_ceilings ceilings;         /* of it */
};

/* Some rows. Zeroed: none. */
struct kp_rows {
	double total_ns, alone_ns;
	uint64_t calls;
};
void kp_rows_add_kernel(struct kp_rows *rows, const struct kp_search *search,
			const struct kp_kernel_row *kernel);
struct kp_rows kp_rows_of_operator(const struct kp_search *search,
				   const struct kp_operator_row *operator_row);
double kp_rows_pct(const struct kp_search *search, const struct kp_rows *rows);

/*
 * No time is promised twice. A finding promises of a kernel only what those before it (in the order
 * in which they are looked for) have left: kp_rows_add_left adds that instead of all, and
 * kp_search_claim takes away what the finding itself promises at most. Ids that the user has
 * silenced claim nothing.
 */
double kp_search_left(const struct kp_search *search, size_t kernel_index); /* 0 … 1 of its time */
void kp_rows_add_left(struct kp_rows *rows, const struct kp_search *search, size_t kernel_index);
struct kp_rows kp_rows_left_of_operator(const struct kp_search *search,
					const struct kp_operator_row *row);
void kp_search_claim(struct kp_search *search, enum kp_finding_id id, size_t kernel_index,
		     double part); /* 0 … 1 of what is left */
/* Evidence of what of the rows others promise, if they do. */
void kp_finding_elsewhere(struct kp_finding *finding, const struct kp_rows *rows,
			  const struct kp_rows *left);
void kp_search_claim_ns(struct kp_search *search, enum kp_finding_id id, size_t kernel_index,
			double ns);

/* A finding to fill: about nothing yet, its win not known. Never NULL. */
struct kp_finding *kp_search_add(struct kp_search *search, enum kp_finding_id id,
				 enum kp_confidence confidence);
/* One of an id that was added, and that the user has not silenced; NULL: there is none. */
const struct kp_finding *kp_search_found(const struct kp_search *search, enum kp_finding_id id);
/* What it is about. */
void kp_search_about_operator(struct kp_search *search, struct kp_finding *finding,
			      size_t operator_index, const struct kp_rows *rows);
void kp_search_about_kernel(struct kp_search *search, struct kp_finding *finding,
			    size_t kernel_index);
/* Its sentence. */
__attribute__((format(printf, 3, 4))) void kp_search_say(struct kp_search *search,
							 struct kp_finding *finding,
							 const char *format, ...);
/* A number that is not finite is none. */
void kp_finding_evidence(struct kp_finding *finding, const char *what, double value,
			 const char *source);
/* What it wins if these parts of its rows' time go away; likely may be NaN: not known. */
void kp_search_win(struct kp_search *search, struct kp_finding *finding, const struct kp_rows *rows,
		   double bound_part, double likely_part, const char *formula);
/* What it wins where the GPU waits; likely may be NaN. */
void kp_search_win_wait(struct kp_search *search, struct kp_finding *finding, double bound_ns,
			double likely_ns, const char *formula);
/* The same in ns: of kernel time at most and likely, of the span at most and likely. */
void kp_search_win_set(struct kp_search *search, struct kp_finding *finding, const double ns[4],
		       const char *formula);
/* What of a faster kernel's win reaches the span: 0 where the GPU mostly waits. */
double kp_search_pace(const struct kp_search *search);
/* The kernel's own name where it is short enough for a sentence, else its operator's. */
const char *kp_search_name(const struct kp_search *search, const struct kp_kernel_row *kernel);
/* The index of an operator by name; report.operator_count: it has no row. */
size_t kp_search_operator(const struct kp_search *search, const char *name);
bool kp_search_is(const struct kp_search *search, const struct kp_kernel_row *kernel,
		  const char *operator_name);

/* Those who look; each may be called once. findings_idle.c */
void kp_find_launch_bound(struct kp_search *search);
void kp_find_gpu_idle(struct kp_search *search);
void kp_find_sync_copies(struct kp_search *search);
void kp_find_memory_copies(struct kp_search *search);
void kp_find_imbalance(struct kp_search *search);
/* findings_products.c */
void kp_find_math_attention(struct kp_search *search);
void kp_find_tensor_cores(struct kp_search *search);
void kp_find_wide_type(struct kp_search *search);
void kp_find_skinny_gemm(struct kp_search *search);
/* findings_small.c */
void kp_find_unfused_chain(struct kp_search *search);
void kp_find_copies(struct kp_search *search);
void kp_find_tiny_kernels(struct kp_search *search);
/* findings_launch.c */
void kp_find_tail_wave(struct kp_search *search);
void kp_find_low_occupancy(struct kp_search *search);
/* findings_shapes.c */
void kp_find_many_shapes(struct kp_search *search);
/* findings_candidate.c */
void kp_find_near_limit(struct kp_search *search);
void kp_find_communication(struct kp_search *search);
void kp_find_candidates(struct kp_search *search);
void kp_find_no_hotspot(struct kp_search *search);
/* findings_trace.c */
void kp_find_above_physics(struct kp_search *search);
void kp_find_broken_times(struct kp_search *search);
void kp_find_incomplete(struct kp_search *search);

/* findings_shapes.c: evidence of how fixed shapes are. */
void kp_search_shapes(struct kp_finding *finding, const struct kp_stability *stability);

/* findings_trace.c: launches that are missing, of all; whether the clock went back. */
double kp_search_missing_pct(const struct kp_search *search);
bool kp_search_clock_stepped(const struct kp_search *search);

/* findings_resolve.c: what of the findings is told, in their order, and what is held back. */
enum kp_status kp_findings_resolve(struct kp_search *search, struct kp_findings *out);

#endif
