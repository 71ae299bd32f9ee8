/* What follows the timeline; see along.h. */
#include "analyzers/along.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/report_fusion.h"
#include "analyzers/timeline_build.h"
#include "trace/vector.h"

/* What is taken goes through one analysis after the other in parts that stay in the cache. */
#define PART 256
/* Batches with more than that are seldom: their memory is given back. */
#define KEPT_ITEMS ((size_t)1 << 17)

static void shown_fini(struct kp_shown *shown)
{
	free(shown->items);
	free(shown->causes);
	free(shown->pieces);
	*shown = (struct kp_shown){0};
}

void kp_along_fini(struct kp_along *along)
{
	for (size_t i = 0; i < KP_RELAY_PLACES; i++)
		shown_fini(&along->batches[i]);
	for (size_t i = 0; i < along->gpu_count; i++)
		kp_path_destroy(along->gpus[i].path);
	free(along->gpus);
	kp_alone_times_fini(&along->alone_times);
	kp_path_times_fini(&along->path_times);
}

struct kp_along_gpu *kp_along_gpu(struct kp_along *along, size_t gpu)
{
	if (!kp_vector_reserve((void **)&along->gpus, gpu + 1, &along->gpu_count,
			       sizeof(*along->gpus)))
		return NULL;
	return &along->gpus[gpu];
}

/* ---- showing ---- */

static bool reserve(struct kp_shown *shown, size_t count)
{
	return kp_vector_reserve((void **)&shown->items, shown->count + count,
				 &shown->item_capacity, sizeof(*shown->items)) &&
	       kp_vector_reserve((void **)&shown->causes, shown->count + count,
				 &shown->cause_capacity, sizeof(*shown->causes)) &&
	       kp_vector_grow((void **)&shown->pieces, shown->piece_count, &shown->piece_capacity,
			      sizeof(*shown->pieces));
}

uint8_t *kp_along_show(struct kp_along *along, size_t gpu, const struct kp_activity *items,
		       size_t count)
{
	struct kp_shown *shown = &along->batches[along->shown % KP_RELAY_PLACES];
	uint8_t *causes;

	if (!reserve(shown, count))
		return NULL;
	if (!shown->piece_count || shown->pieces[shown->piece_count - 1].gpu != gpu)
		shown->pieces[shown->piece_count++].gpu = gpu;
	memcpy(shown->items + shown->count, items, count * sizeof(*items));
	causes = shown->causes + shown->count;
	shown->count += count;
	shown->pieces[shown->piece_count - 1].end = shown->count;
	return causes;
}

void kp_along_end_batch(struct kp_along *along)
{
	along->shown++;
}

/* ---- taking ---- */

static enum kp_status take_part(struct kp_builder *builder, struct kp_along_gpu *gpu,
				const struct kp_activity *items, const uint8_t *causes,
				size_t count)
{
	struct kp_along *along = &builder->timeline->along;
	enum kp_status status = kp_alone_add_all(&gpu->alone, items, count, &along->alone_times);

	if (status == KP_OK)
		status = kp_build_fusion_see(builder, items, count);
	for (size_t i = 0; status == KP_OK && !along->no_path && i < count; i++) {
		if (causes[i] != KP_SHOWN_NO_GAP)
			status = kp_path_gap(gpu->path, (enum kp_gap_cause)causes[i],
					     items[i].start_ns, &along->path_times);
		if (status == KP_OK)
			status = kp_path_add(gpu->path, &items[i]);
	}
	return status;
}

static enum kp_status take_piece(struct kp_builder *builder, const struct kp_shown *shown,
				 size_t begin, const struct kp_shown_piece *piece)
{
	struct kp_along *along = &builder->timeline->along;
	struct kp_along_gpu *gpu = kp_along_gpu(along, piece->gpu);
	enum kp_status status = KP_OK;

	if (gpu && !gpu->path && !along->no_path)
		gpu->path = kp_path_create();
	if (!gpu || (!gpu->path && !along->no_path))
		return KP_NO_MEMORY;
	for (size_t i = begin; status == KP_OK && i < piece->end; i += PART)
		status = take_part(builder, gpu, &shown->items[i], &shown->causes[i],
				   piece->end - i < PART ? piece->end - i : PART);
	return status;
}

enum kp_status kp_along_take(void *context, const struct kp_event *event)
{
	struct kp_builder *builder = context;
	struct kp_along *along = &builder->timeline->along;
	struct kp_shown *shown = &along->batches[along->taken++ % KP_RELAY_PLACES];
	enum kp_status status = KP_OK;
	size_t begin = 0;

	(void)event; /* what of it was in order was shown */
	for (size_t i = 0; status == KP_OK && i < shown->piece_count; i++) {
		status = take_piece(builder, shown, begin, &shown->pieces[i]);
		begin = shown->pieces[i].end;
	}
	shown->count = shown->piece_count = 0;
	if (shown->item_capacity > KEPT_ITEMS)
		shown_fini(shown);
	return status;
}

void kp_along_finish_alone(struct kp_along *along)
{
	for (size_t i = 0; i < along->gpu_count; i++)
		kp_alone_finish(&along->gpus[i].alone, &along->alone_times);
}

enum kp_status kp_along_finish_path(struct kp_along *along)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < along->gpu_count && status == KP_OK; i++)
		if (along->gpus[i].path)
			status = kp_path_finish(along->gpus[i].path, &along->path_times);
	return status;
}
