/* Attention in float64; see kernels/attention_decode.h. */
#include <math.h>
#include <stdlib.h>

#include "kernels/attention_decode.h"
#include "kernels/reference/number.h"

/* A query of a head, and where its results go; those that are not wanted are NULL. */
struct row {
	const struct kp_attention_decode_args *args;
	uint32_t sequence, query, head;
	int64_t q, first, last;
	double *out, *magnitudes;
	double lse, score;
};

static void find(struct row *row)
{
	const struct kp_attention_decode_args *args = row->args;
	int64_t length = args->lengths[row->sequence];

	if (length > args->length_most)
		length = args->length_most;
	if (length < 0)
		length = 0;
	row->q = row->sequence * args->q_batch + row->query * args->q_query +
		 row->head * args->q_head;
	row->last = length - args->queries + row->query;
	row->first = 0;
	if (args->window && row->last + 1 > args->window)
		row->first = row->last + 1 - args->window;
}

/* Where a key, or a value, is in its cache. */
static int64_t place(const struct row *row, int64_t key, int64_t page_stride, int64_t token,
		     int64_t head)
{
	const struct kp_attention_decode_args *args = row->args;
	int64_t kv_head = row->head / (args->q_heads / args->kv_heads);

	if (!args->pages)
		return row->sequence * page_stride + key * token + kv_head * head;
	return args->pages[row->sequence * args->pages_batch + key / args->page_tokens] *
		       page_stride +
	       key % args->page_tokens * token + kv_head * head;
}

static double cached(const struct row *row, const void *cache, int64_t at)
{
	return kp_number_load(cache, row->args->cache_dtype, at);
}

static double score(struct row *row, int64_t key)
{
	const struct kp_attention_decode_args *args = row->args;
	int64_t k = place(row, key, args->k_page, args->k_token, args->k_head);
	double factor = args->cache_dtype == KP_DTYPE_E4M3 ? args->k_scale : 1, s = 0, size = 0;

	for (uint32_t i = 0; i < args->head_dim; i++) {
		double product = kp_number_load(args->q, args->dtype, row->q + i) *
				 cached(row, args->k, k + i);

		s += product;
		size += fabs(product);
	}
	row->score = fmax(row->score, size * fabs(factor * args->scale));
	s *= factor * args->scale;
	return args->softcap != 0 ? args->softcap * tanh(s / args->softcap) : s;
}

static void add(struct row *row, int64_t key, double weight)
{
	const struct kp_attention_decode_args *args = row->args;
	int64_t v = place(row, key, args->v_page, args->v_token, args->v_head);
	double factor = args->cache_dtype == KP_DTYPE_E4M3 ? args->v_scale : 1;

	for (uint32_t i = 0; i < args->head_dim; i++) {
		double value = weight * factor * cached(row, args->v, v + i);

		row->out[i] += value;
		row->magnitudes[i] += fabs(value);
	}
}

/* `scores` has room for all keys. */
static void compute(struct row *row, double *scores)
{
	double most = -INFINITY, total = 0;
	bool is_nan = false;

	for (uint32_t i = 0; i < row->args->head_dim; i++)
		row->out[i] = row->magnitudes[i] = 0;
	row->lse = -INFINITY;
	row->score = 0;
	for (int64_t key = row->first; key <= row->last; key++) {
		scores[key] = score(row, key);
		most = fmax(most, scores[key]);
		is_nan = is_nan || isnan(scores[key]);
	}
	if (most == -INFINITY && !is_nan)
		return;
	for (int64_t key = row->first; key <= row->last; key++)
		total += exp(scores[key] - most);
	for (int64_t key = row->first; key <= row->last; key++)
		add(row, key, exp(scores[key] - most) / total);
	row->lse = most + log(total);
}

void kp_attention_decode_reference(const struct kp_attention_decode_args *args, double *out,
				   double *magnitudes, double *lse, double *scores)
{
	double unused[KP_ATTENTION_HEAD_MOST] = {0};
	size_t rows = (size_t)args->batch * args->queries * args->q_heads;
	double *room = malloc((size_t)(args->length_most + 1) * sizeof(*room));
	struct row row = {.args = args};

	for (size_t i = 0; !room && i < rows * args->head_dim; i++)
		out[i] = NAN;
	for (size_t i = 0; room && i < rows; i++) {
		row.head = (uint32_t)(i % args->q_heads);
		row.query = (uint32_t)(i / args->q_heads % args->queries);
		row.sequence = (uint32_t)(i / args->q_heads / args->queries);
		row.out = out + i * args->head_dim;
		row.magnitudes = magnitudes ? magnitudes + i * args->head_dim : unused;
		find(&row);
		compute(&row, room);
		if (lse)
			lse[i] = row.lse;
		if (scores)
			scores[i] = row.score;
	}
	free(room);
}
