/*
 * When launches count: lag and lead of their windows, found by Gauss-Newton on the residual of the
 * linear model, over stretches of the run.
 *
 * One pass over the stretches gives the normal equations of everything at once: of the classes' x,
 * and of each class's two edges (in units of x). A grid over lag and lead common to all comes
 * first, then steps of the common ones, then of those of each class that counts much, held near the
 * common ones by a prior; and once more, held near what turned out to be usual among short
 * launches, which large ones hide. Priors are on times, never on what is counted.
 */
#include "analyzers/attribution_finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is expected before looking, and how firmly: as seen on H200, with the samples' clock. */
#define LAG_NS 800.0
#define LEAD_NS 2400.0
#define COMMON_SIGMA_NS 2000.0
#define CLASS_SIGMA_NS 1500.0
#define GRID_NS 1000.0
#define GRID_LAGS 5
#define GRID_LEADS 6
#define COMMON_STEPS 4
#define CLASS_STEPS 6
#define STEP_MAX_NS 400.0
/* A class has edges of its own from this part of all that is counted on. */
#define CLASS_PART 0.001
/*
 * Edges of single launches scatter, those of a class less so: a class's are taken to be off by this
 * part of what would explain the whole residual, and by no more than OFF_MAX_NS.
 */
#define OFF_PART 0.5
#define OFF_MAX_NS 600.0

static double off_prior(double value, double expected, double sigma)
{
	return (value - expected) * (value - expected) / (sigma * sigma);
}

static void set_all(struct kp_finding *finding, struct kp_window_edges edges)
{
	for (size_t i = 0; i <= finding->attribution->kept; i++)
		finding->edges[i] = edges;
}

static enum kp_status search_grid(struct kp_finding *finding, struct kp_window_edges *common)
{
	double best = -1, residual = 0;
	enum kp_status status = KP_OK;

	*common = (struct kp_window_edges){LAG_NS, LEAD_NS};
	for (int i = 0; i < GRID_LAGS * GRID_LEADS && status == KP_OK; i++) {
		int lag = i % GRID_LAGS - 1, lead = i / GRID_LAGS - 1;
		struct kp_window_edges edges = {lag * GRID_NS, lead * GRID_NS};
		double prior = off_prior(edges.lag_ns, LAG_NS, COMMON_SIGMA_NS) +
			       off_prior(edges.lead_ns, LEAD_NS, COMMON_SIGMA_NS);

		set_all(finding, edges);
		status = kp_finding_pass(finding, &residual);
		residual *= 1 + prior / fmax(finding->rows, 1);
		if (best < 0 || residual < best) {
			best = residual;
			*common = edges;
		}
	}
	return status;
}

static double clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

static double step_of(double value)
{
	return isfinite(value) ? clamp(value, -STEP_MAX_NS, STEP_MAX_NS) : 0;
}

/* The column of edge `e` of the joint system: the lags of all groups, then the leads; else < 0. */
static ptrdiff_t joint_column(const struct kp_finding *finding, const int *group_of, size_t groups,
			      size_t e)
{
	int group = group_of[e % finding->edged];

	if (group < 0)
		return -1;
	return (ptrdiff_t)(finding->first + (size_t)group + (e >= finding->edged ? groups : 0));
}

/* Edge `e` against all columns, and its part of the right side. */
static void join_edge(struct kp_finding *finding, const int *group_of, size_t groups, size_t e)
{
	size_t edged = finding->edged, first = finding->first, n = first + 2 * groups;
	size_t from = first + e;
	ptrdiff_t to = joint_column(finding, group_of, groups, e);
	double x = kp_finding_whole(finding, e % edged), gradient = finding->right[from];
	double *row = &finding->joint[(size_t)to * n];

	for (size_t j = 0; j < first; j++) {
		double element = kp_least_element(finding->matrix, finding->n, from, j);

		row[j] += finding->x[j] > 0 ? x * element : 0;
		gradient -= finding->x[j] * element;
	}
	finding->joint_right[to] += x * gradient;
	for (size_t f = 0; f < 2 * edged; f++) {
		ptrdiff_t other = joint_column(finding, group_of, groups, f);

		if (other >= 0 && other <= to)
			row[other] +=
				x * kp_finding_whole(finding, f % edged) *
				kp_least_element(finding->matrix, finding->n, from, first + f);
	}
}

/*
 * The joint system of x and `groups` times two edges: column group_of[c] of classes, or < 0. With
 * all classes in group 0 these are the common edges. On return joint_right holds the solution.
 */
static enum kp_status solve_joint(struct kp_finding *finding, const int *group_of, size_t groups,
				  double ridge, const struct kp_window_edges *pull)
{
	size_t first = finding->first, n = first + 2 * groups;
	double *joint = finding->joint, *right = finding->joint_right;
	struct kp_least least;
	enum kp_status status;

	memset(joint, 0, n * n * sizeof(double));
	memset(right, 0, n * sizeof(double));
	for (size_t i = 0; i < first; i++) {
		for (size_t j = 0; j <= i; j++)
			joint[i * n + j] =
				finding->x[i] > 0 && finding->x[j] > 0
					? kp_least_element(finding->matrix, finding->n, i, j)
					: 0;
	}
	for (size_t e = 0; finding->edged && e < 2 * finding->edged; e++) {
		if (joint_column(finding, group_of, groups, e) >= 0)
			join_edge(finding, group_of, groups, e);
	}
	for (size_t g = 0; g < groups; g++) {
		joint[(first + g) * n + first + g] += ridge;
		joint[(first + groups + g) * n + first + groups + g] += ridge;
		right[first + g] += ridge * pull[g].lag_ns;
		right[first + groups + g] += ridge * pull[g].lead_ns;
	}
	status = kp_least_factor(joint, n, &least);
	if (status == KP_OK) {
		kp_least_solve(&least, right);
		kp_least_fini(&least);
	}
	return status;
}

static enum kp_status step_common(struct kp_finding *finding, struct kp_window_edges *common)
{
	int all[KP_EDGED_MAX] = {0};
	double best = -1, residual;
	struct kp_window_edges edges = *common;
	enum kp_status status = KP_OK;

	for (int step = 0; step <= COMMON_STEPS; step++) {
		struct kp_window_edges pull = {LAG_NS - edges.lag_ns, LEAD_NS - edges.lead_ns};
		const double *steps = &finding->joint_right[finding->first];

		set_all(finding, edges);
		status = kp_finding_pass(finding, &residual);
		if (status != KP_OK)
			return status;
		if (best >= 0 && residual >= best)
			break;
		best = residual;
		*common = edges;
		status = solve_joint(finding, all, 1,
				     residual / fmax(finding->rows, 1) /
					     (COMMON_SIGMA_NS * COMMON_SIGMA_NS),
				     &pull);
		if (status != KP_OK)
			return status;
		edges.lag_ns = clamp(edges.lag_ns + step_of(steps[0]), -KP_WINDOW_MAX_NS / 2,
				     KP_WINDOW_MAX_NS);
		edges.lead_ns = clamp(edges.lead_ns + step_of(steps[1]), -KP_WINDOW_MAX_NS / 2,
				      KP_WINDOW_MAX_NS);
	}
	set_all(finding, *common);
	return KP_OK;
}

/* Classes that count much get a group each. */
static size_t group_classes(const struct kp_finding *finding, int *group_of)
{
	double whole = 0;
	size_t groups = 0;

	for (size_t i = 0; i < finding->edged; i++)
		whole += kp_finding_whole(finding, i) * finding->attribution->times[i].launches;
	for (size_t i = 0; i < finding->edged; i++) {
		bool much = kp_finding_whole(finding, i) * finding->attribution->times[i].launches >
			    CLASS_PART * whole;
		group_of[i] = much ? (int)groups++ : -1;
	}
	return groups;
}

static void move_classes(struct kp_finding *finding, const int *group_of, size_t groups)
{
	const double *steps = &finding->joint_right[finding->first];

	for (size_t i = 0; i < finding->edged; i++) {
		struct kp_window_edges *edges = &finding->edges[i];

		if (group_of[i] < 0)
			continue;
		size_t group = (size_t)group_of[i];
		edges->lag_ns = clamp(edges->lag_ns + step_of(steps[group]), -KP_WINDOW_MAX_NS / 2,
				      KP_WINDOW_MAX_NS);
		edges->lead_ns = clamp(edges->lead_ns + step_of(steps[groups + group]),
				       -KP_WINDOW_MAX_NS / 2, KP_WINDOW_MAX_NS);
	}
}

/* How far the edges of groups are from the common ones. */
static void pull_groups(const struct kp_finding *finding, const int *group_of,
			struct kp_window_edges common, struct kp_window_edges *pull)
{
	for (size_t i = 0; i < finding->edged; i++) {
		if (group_of[i] >= 0)
			pull[group_of[i]] = (struct kp_window_edges){
				common.lag_ns - finding->edges[i].lag_ns,
				common.lead_ns - finding->edges[i].lead_ns};
	}
}

/* Steps each class's edges, and leaves them where the residual was least. */
static enum kp_status step_classes(struct kp_finding *finding, struct kp_window_edges common,
				   double *residual)
{
	size_t bytes = finding->edged * sizeof(struct kp_window_edges);
	struct kp_window_edges pull[KP_EDGED_MAX] = {{0}}, kept[KP_EDGED_MAX] = {{0}};
	int group_of[KP_EDGED_MAX] = {0};
	enum kp_status status = kp_finding_pass(finding, residual);
	double best = *residual;

	memcpy(kept, finding->edges, bytes);
	for (int step = 0; step < CLASS_STEPS && status == KP_OK; step++) {
		size_t groups = group_classes(finding, group_of);

		if (!groups)
			break;
		pull_groups(finding, group_of, common, pull);
		status = solve_joint(finding, group_of, groups,
				     *residual / fmax(finding->rows, 1) /
					     (CLASS_SIGMA_NS * CLASS_SIGMA_NS),
				     pull);
		if (status != KP_OK)
			break;
		move_classes(finding, group_of, groups);
		status = kp_finding_pass(finding, residual);
		if (*residual < best) {
			best = *residual;
			memcpy(kept, finding->edges, bytes);
		}
	}
	if (status != KP_OK || *residual <= best)
		return status;
	memcpy(finding->edges, kept, bytes);
	return kp_finding_pass(finding, residual);
}

/* Classes without edges of their own get the usual ones, and the others are held near those. */
static enum kp_status step_again(struct kp_finding *finding, double *residual)
{
	int group_of[KP_EDGED_MAX] = {0};
	struct kp_window_edges usual;

	group_classes(finding, group_of);
	if (!kp_edges_usual(finding->attribution->times, finding->edges, group_of, finding->edged,
			    &usual))
		return KP_OK;
	for (size_t i = 0; i <= finding->attribution->kept; i++) {
		if (i >= finding->edged || group_of[i] < 0)
			finding->edges[i] = usual;
	}
	return step_classes(finding, usual, residual);
}

/* See struct kp_edges_found. */
static enum kp_status find_moves(struct kp_finding *finding, double residual, double *moves)
{
	size_t edged = finding->edged, first = finding->first;
	double spread = 0, off_ns;
	double *move = finding->joint_right;
	struct kp_least least;
	enum kp_status status;

	for (size_t e = 0; edged && e < 2 * edged; e++)
		spread += kp_finding_whole(finding, e % edged) *
			  kp_finding_whole(finding, e % edged) *
			  kp_least_element(finding->matrix, finding->n, first + e, first + e);
	off_ns = spread > 0 ? fmin(OFF_PART * sqrt(residual / spread), OFF_MAX_NS) : 0;
	for (size_t i = 0; i < first; i++)
		memcpy(&finding->joint[i * first], &finding->matrix[i * finding->n],
		       first * sizeof(double));
	status = kp_least_factor(finding->joint, first, &least);
	if (status != KP_OK)
		return status;
	for (size_t e = 0; edged && e < 2 * edged; e++) {
		for (size_t j = 0; j < first; j++)
			move[j] = off_ns * kp_finding_whole(finding, e % edged) *
				  kp_least_element(finding->matrix, finding->n, first + e, j);
		kp_least_solve(&least, move);
		for (size_t c = 0; c < edged; c++)
			moves[e * edged + c] = kp_finding_whole_of(finding, c, move);
	}
	kp_least_fini(&least);
	return KP_OK;
}

/* Edges, first common ones and without knowing the noise, then of each class; and the noise. */
static enum kp_status find(struct kp_finding *finding, struct kp_edges_found *out)
{
	double residual = 0;
	enum kp_status status = search_grid(finding, &out->common);

	finding->edges_too = true;
	set_all(finding, out->common);
	if (status == KP_OK)
		status = kp_finding_pass(finding, &residual);
	if (status == KP_OK) {
		kp_finding_learn(finding);
		status = step_common(finding, &out->common);
	}
	if (status == KP_OK) {
		kp_finding_learn(finding);
		status = step_classes(finding, out->common, &residual);
	}
	if (status == KP_OK) {
		kp_finding_learn(finding);
		status = step_again(finding, &residual);
	}
	if (status == KP_OK)
		status = kp_finding_pass(finding, &residual);
	if (status == KP_OK) {
		kp_finding_learn(finding);
		status = kp_finding_pass(finding, &residual);
	}
	if (status == KP_OK)
		status = find_moves(finding, residual, out->moves);
	return status;
}

enum kp_status kp_edges_find(struct kp_attribution *attribution, const float *values,
			     double background, struct kp_edges_found *out)
{
	struct kp_finding finding = {.attribution = attribution,
				     .values = values,
				     .background = background,
				     .noise = &out->noise};
	enum kp_status status;

	*out = (struct kp_edges_found){0};
	out->edges = finding.edges = calloc(attribution->kept + 1U, sizeof(*out->edges));
	status = out->edges ? kp_noise_init(&out->noise, attribution->kept) : KP_NO_MEMORY;
	if (status == KP_OK)
		status = kp_finding_init(&finding);
	out->edged = finding.edged;
	if (status == KP_OK) {
		out->moves = calloc(2 * out->edged * out->edged + 1, sizeof(*out->moves));
		status = out->moves ? find(&finding, out) : KP_NO_MEMORY;
	}
	kp_finding_fini(&finding);
	if (status != KP_OK)
		kp_edges_fini(out);
	return status;
}

void kp_edges_fini(struct kp_edges_found *found)
{
	free(found->edges);
	free(found->moves);
	kp_noise_fini(&found->noise);
	*found = (struct kp_edges_found){0};
}
