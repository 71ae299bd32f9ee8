/* Operators by name for Python; see bench_library.h. */
#include "profiler/bench_library.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/bench_buffers.h"

#define EXPORT __attribute__((visibility("default")))

struct kprof_bench {
	struct kp_bench_buffers buffers;
};

EXPORT struct kp_kernels *kprof_bench_kernels(void)
{
	struct kp_kernels *kernels;
	int error;

	return kp_kernels_create(NULL, &kernels, &error) == KP_OK ? kernels : NULL;
}

EXPORT struct kprof_bench *kprof_bench_create(const char *name, const char *shape, uint32_t sms)
{
	const struct kp_bench_operator *operator= kp_bench_find(name);
	const struct kp_kernel_device device = {.sm_count = sms};
	struct kprof_bench *bench;
	struct kp_bench_shape parsed;

	if (!operator)
		return NULL;
	if (!kp_bench_shape_parse(kp_bench_form_of(operator), shape, strlen(shape), &parsed))
		return NULL;
	bench = calloc(1, sizeof(*bench));
	if (bench && !kp_bench_buffers_init(&bench->buffers, operator, & parsed, &device))
		return bench;
	free(bench);
	return NULL;
}

EXPORT struct kprof_bench *kprof_bench_some(const struct kprof_bench *all, uint32_t units)
{
	struct kprof_bench *some = calloc(1, sizeof(*some));

	if (some)
		some->buffers = kp_bench_buffers_of(&all->buffers, units);
	return some;
}

EXPORT void kprof_bench_destroy(struct kprof_bench *bench)
{
	free(bench);
}

EXPORT uint32_t kprof_bench_buffers(const struct kprof_bench *bench)
{
	return (uint32_t)bench->buffers.layout.count;
}

EXPORT uint32_t kprof_bench_units(const struct kprof_bench *bench)
{
	return bench->buffers.units;
}

EXPORT uint64_t kprof_bench_moved_bytes(const struct kprof_bench *bench)
{
	return bench->buffers.moved_bytes;
}

EXPORT void kprof_bench_describe(const struct kprof_bench *bench, uint32_t buffer,
				 struct kprof_bench_buffer *out)
{
	const struct kp_bench_buffer *from = &bench->buffers.layout.buffers[buffer];

	*out = (struct kprof_bench_buffer){
		.bytes = kp_bench_buffer_bytes(&bench->buffers, buffer),
		.unit_bytes = kp_bench_unit_bytes(from),
		.fill_bytes = kp_bench_fill_bytes(&bench->buffers, buffer),
		.planes = from->planes,
		.element_bytes = from->element_bytes,
		.is_shared = kp_bench_is_shared(from),
		.is_output = kp_bench_is_output(from),
		.is_checked = kp_bench_is_checked(from),
		.is_whole = kp_bench_is_whole(from),
	};
}

EXPORT uint32_t kprof_bench_size(const struct kprof_bench *bench, const char *key)
{
	const struct kp_bench_form *form = bench->buffers.form;
	const struct kp_bench_shape *shape = &bench->buffers.shape;

	for (size_t i = 0; form->sizes[i].key; i++)
		if (strcmp(form->sizes[i].key, key) == 0)
			return kp_bench_size_get(form, shape, i);
	if (strcmp(key, "page_tokens") == 0)
		return shape->page_tokens;
	if (strcmp(key, "narrow") == 0)
		return shape->narrow;
	if (strcmp(key, "causal") == 0)
		return shape->causal;
	return strcmp(key, "varied") == 0 ? shape->varied : 0;
}

EXPORT void kprof_bench_fill(const struct kprof_bench *bench, uint32_t buffer, void *host)
{
	kp_bench_fill(&bench->buffers, buffer, host);
}

EXPORT uint32_t kprof_bench_sample(const struct kprof_bench *bench, uint32_t units[64])
{
	return kp_bench_sample(&bench->buffers, units);
}

EXPORT void kprof_bench_reference(const struct kprof_bench *bench, void *const *host,
				  double *expected, double *slack)
{
	kp_bench_reference(&bench->buffers, host, expected, slack);
}

EXPORT int kprof_bench_call(const struct kprof_bench *bench, const struct kp_kernels *kernels,
			    void *const *buffers, int dependent, void *stream)
{
	const struct kp_bench_call call = {bench->buffers.shape, bench->buffers.dtype, buffers,
					   dependent != 0, stream};

	return (int)bench->buffers.operator->enqueue(kernels, &call);
}
