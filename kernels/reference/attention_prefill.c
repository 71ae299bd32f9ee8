/* Attention of whole sequences in float64; see kernels/attention_prefill.h. */
#include <math.h>
#include <stdlib.h>

#include "kernels/attention_prefill.h"
#include "kernels/reference/number.h"

/* A query of a head: where it is, what it sees. */
struct row {
	const struct kp_attention_prefill_args *args;
	uint32_t sequence, head;
	int64_t query, q_start, k_start, queries, keys;
	int64_t first, end;
};

static void find_keys(struct row *row)
{
	const struct kp_attention_prefill_args *args = row->args;
	int64_t end = row->keys;

	row->first = 0;
	if (args->causal)
		end = row->query + row->keys - row->queries + args->offset + 1;
	if (args->window && end > args->window)
		row->first = end - args->window;
	if (end > row->keys)
		end = row->keys;
	row->end = end;
}

static void find(struct row *row)
{
	const struct kp_attention_prefill_args *args = row->args;

	row->q_start = row->k_start = 0;
	row->queries = args->queries;
	row->keys = args->keys;
	if (args->q_starts) {
		row->q_start = args->q_starts[row->sequence];
		row->queries = args->q_starts[row->sequence + 1] - row->q_start;
		row->k_start = args->k_starts[row->sequence];
		row->keys = args->k_starts[row->sequence + 1] - row->k_start;
	}
	if (args->position && row->keys > *args->position + row->queries)
		row->keys = *args->position + row->queries;
	find_keys(row);
}

/* Where a key, or a value, is. */
static int64_t place(const struct row *row, int64_t key, int64_t batch, int64_t stride,
		     int64_t head)
{
	const struct kp_attention_prefill_args *args = row->args;
	int64_t at = row->head / (args->q_heads / args->kv_heads) * head;

	if (args->pages)
		return at +
		       args->pages[row->sequence * args->pages_batch + key / args->page_tokens] *
			       batch +
		       key % args->page_tokens * stride;
	return at + (args->k_starts ? 0 : row->sequence * batch) + (row->k_start + key) * stride;
}

static double score(const struct row *row, int64_t key, double *largest)
{
	const struct kp_attention_prefill_args *args = row->args;
	int64_t k = place(row, key, args->k_batch, args->k_key, args->k_head);
	int64_t q = (args->q_starts ? 0 : row->sequence * args->q_batch) +
		    (row->q_start + row->query) * args->q_query + row->head * args->q_head;
	double s = 0, size = 0;

	for (uint32_t i = 0; i < args->head_dim; i++) {
		double product = kp_number_load(args->q, args->dtype, q + i) *
				 kp_number_load(args->k, args->dtype, k + i);

		s += product;
		size += fabs(product);
	}
	*largest = fmax(*largest, size * fabs((double)args->scale));
	s *= args->scale;
	return args->softcap != 0 ? args->softcap * tanh(s / args->softcap) : s;
}

static void add(const struct row *row, int64_t key, double weight, double *out, double *magnitudes)
{
	const struct kp_attention_prefill_args *args = row->args;
	int64_t v = place(row, key, args->v_batch, args->v_key, args->v_head);

	for (uint32_t i = 0; i < args->head_dim; i++) {
		double value = weight * kp_number_load(args->v, args->dtype, v + i);

		out[i] += value;
		magnitudes[i] += fabs(value);
	}
}

/* `scores` has room for all keys. */
static void compute(const struct row *row, double *scores, double *out, double *magnitudes,
		    double *lse, double *largest)
{
	double most = -INFINITY, total = 0;
	bool is_nan = false;

	for (uint32_t i = 0; i < row->args->head_dim; i++)
		out[i] = magnitudes[i] = 0;
	*lse = -INFINITY;
	*largest = 0;
	for (int64_t key = row->first; key < row->end; key++) {
		scores[key] = score(row, key, largest);
		most = fmax(most, scores[key]);
		is_nan = is_nan || isnan(scores[key]);
	}
	if (most == -INFINITY && !is_nan)
		return;
	for (int64_t key = row->first; key < row->end; key++)
		total += exp(scores[key] - most);
	for (int64_t key = row->first; key < row->end; key++)
		add(row, key, exp(scores[key] - most) / total, out, magnitudes);
	*lse = most + log(total);
}

/* All queries of a sequence; the results begin at row `first`. */
static void compute_sequence(struct row *row, size_t first, double *room, double *const results[4])
{
	const struct kp_attention_prefill_args *args = row->args;
	double unused[KP_PREFILL_HEAD_MOST] = {0}, lse, largest;

	for (row->query = 0; row->query < row->queries; row->query++)
		for (row->head = 0; row->head < args->q_heads; row->head++) {
			size_t at = (first + (size_t)row->query) * args->q_heads + row->head;

			find(row);
			compute(row, room, results[0] + at * args->head_dim,
				results[1] ? results[1] + at * args->head_dim : unused, &lse,
				&largest);
			if (results[2])
				results[2][at] = lse;
			if (results[3])
				results[3][at] = largest;
		}
}

void kp_attention_prefill_reference(const struct kp_attention_prefill_args *args, double *out,
				    double *magnitudes, double *lse, double *scores)
{
	double *const results[4] = {out, magnitudes, lse, scores};
	double *room = malloc(((size_t)args->keys + 1) * sizeof(*room));
	struct row row = {.args = args};
	size_t rows = (size_t)args->batch * args->queries;

	if (args->q_starts)
		rows = (size_t)args->q_starts[args->batch];
	for (size_t i = 0; !room && i < rows * args->q_heads * args->head_dim; i++)
		out[i] = NAN;
	for (row.sequence = 0; room && row.sequence < args->batch; row.sequence++) {
		find(&row);
		compute_sequence(&row,
				 args->q_starts ? (size_t)row.q_start
						: (size_t)row.sequence * args->queries,
				 room, results);
	}
	free(room);
}
