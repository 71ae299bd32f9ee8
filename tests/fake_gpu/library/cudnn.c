/*
 * A libcudnn.so.9: the backend API, as cudnn_graph.h has it and as it was seen on the real one.
 *
 * A descriptor is a list of attributes. What refers to another descriptor keeps it alive, so a
 * program may destroy tensors once their graph is made. Heuristics fill the configurations that the
 * program made, a configuration gives its engine, an engine its graph; operations of a graph cannot
 * be asked for. A plan launches one kernel, whose name says the extents of all tensors of its
 * first operation, in the order of their attributes: «type10_64_…».
 */
#include "tests/fake_gpu/library/cudnn.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake_gpu/library/launch.h"

#pragma GCC visibility push(default)

/* Of cudnnStatus_t. */
enum { SUCCESS = 0, BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };
/* Of cudnnBackendAttributeType_t and cudnnBackendDescriptorType_t. */
enum { OF_DESCRIPTOR = 15, ENGINE = 2, ENGINE_CONFIG = 3, HEURISTICS = 4, PLAN = 5, TENSOR = 17 };
/* Of cudnnBackendAttributeName_t. */
enum {
	HEURISTICS_GRAPH = 201,
	HEURISTICS_RESULTS = 202,
	CONFIG_ENGINE = 300,
	PLAN_CONFIG = 401,
	PLAN_JSON = 405,
	GRAPH_OPERATIONS = 801,
	TENSOR_EXTENTS = 902,
	ENGINE_GRAPH = 1300,
	NAME_END = 3000
};
#define ATTRIBUTES_MOST 32
#define ENGINES 3

struct attribute {
	int name, type;
	int64_t count;
	void *elements;
};

struct descriptor {
	int type, uses;
	bool finalized;
	int attribute_count;
	struct attribute attributes[ATTRIBUTES_MOST];
};

struct handle {
	CUstream stream;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int cudnnCreate(void **out)
{
	*out = calloc(1, sizeof(struct handle));
	return *out ? SUCCESS : BAD_PARAM;
}

int cudnnSetStream(void *handle, CUstream stream)
{
	((struct handle *)handle)->stream = stream;
	return SUCCESS;
}

int cudnnBackendCreateDescriptor(int type, void **out)
{
	struct descriptor *made = type >= 0 && type <= 43 ? calloc(1, sizeof(*made)) : NULL;

	if (!made)
		return NOT_SUPPORTED;
	made->type = type;
	made->uses = 1;
	*out = made;
	return SUCCESS;
}

static void drop(struct descriptor *descriptor);

static void empty(struct attribute *attribute)
{
	for (int64_t i = 0; attribute->type == OF_DESCRIPTOR && i < attribute->count; i++)
		drop(((struct descriptor **)attribute->elements)[i]);
	free(attribute->elements);
}

static void drop(struct descriptor *descriptor)
{
	if (--descriptor->uses)
		return;
	for (int i = 0; i < descriptor->attribute_count; i++)
		empty(&descriptor->attributes[i]);
	memset(descriptor, 0xdd, sizeof(*descriptor));
	free(descriptor);
}

int cudnnBackendDestroyDescriptor(void *descriptor)
{
	pthread_mutex_lock(&lock);
	drop(descriptor);
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

static struct attribute *find(struct descriptor *descriptor, int name)
{
	for (int i = 0; i < descriptor->attribute_count; i++)
		if (descriptor->attributes[i].name == name)
			return &descriptor->attributes[i];
	return NULL;
}

static struct descriptor *referred(struct descriptor *descriptor, int name)
{
	struct attribute *attribute = descriptor ? find(descriptor, name) : NULL;

	return attribute ? *(struct descriptor **)attribute->elements : NULL;
}

static size_t bytes_of(int type)
{
	switch (type) {
	case 0:  /* a handle */
	case 3:  /* int64 */
	case 5:  /* double */
	case 6:  /* an address */
	case 26: /* a fraction */
	case OF_DESCRIPTOR:
		return 8;
	case 2:  /* bool */
	case 24: /* char */
		return 1;
	default:
		return 4;
	}
}

/* With the lock. */
static int set(struct descriptor *descriptor, int name, int type, int64_t count,
	       const void *elements)
{
	struct attribute *attribute = find(descriptor, name);
	size_t bytes = (size_t)count * bytes_of(type);
	void *copy = malloc(bytes);

	if (!copy || (!attribute && descriptor->attribute_count == ATTRIBUTES_MOST)) {
		free(copy);
		return BAD_PARAM;
	}
	memcpy(copy, elements, bytes);
	for (int64_t i = 0; type == OF_DESCRIPTOR && i < count; i++)
		((struct descriptor **)copy)[i]->uses++;
	if (attribute)
		empty(attribute);
	else
		attribute = &descriptor->attributes[descriptor->attribute_count++];
	*attribute = (struct attribute){name, type, count, copy};
	return SUCCESS;
}

int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
			     const void *elements)
{
	int result;

	if (!descriptor || !elements || count < 1 || name < 0 || name >= NAME_END ||
	    ((struct descriptor *)descriptor)->finalized)
		return BAD_PARAM;
	for (int64_t i = 0; type == OF_DESCRIPTOR && i < count; i++)
		if (!((struct descriptor *const *)elements)[i]->finalized)
			return BAD_PARAM;
	pthread_mutex_lock(&lock);
	result = set(descriptor, name, type, count, elements);
	pthread_mutex_unlock(&lock);
	return result;
}

int cudnnBackendFinalize(void *descriptor)
{
	((struct descriptor *)descriptor)->finalized = true;
	return SUCCESS;
}

/* Makes a descriptor of the program's what the library says. */
static void fill(struct descriptor *out, int name, struct descriptor *of)
{
	set(out, name, OF_DESCRIPTOR, 1, &of);
	out->finalized = true;
}

static int results(struct descriptor *heuristics, int64_t asked, int64_t *count,
		   struct descriptor **out)
{
	struct descriptor *graph = referred(heuristics, HEURISTICS_GRAPH), *engine;

	*count = ENGINES;
	for (int64_t i = 0; graph && i < asked && i < ENGINES; i++) {
		if (cudnnBackendCreateDescriptor(ENGINE, (void **)&engine) != SUCCESS)
			return BAD_PARAM;
		fill(engine, ENGINE_GRAPH, graph);
		fill(out[i], CONFIG_ENGINE, engine);
		drop(engine);
	}
	return graph ? SUCCESS : BAD_PARAM;
}

int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t asked, int64_t *count,
			     void *elements)
{
	struct descriptor *from = descriptor, *of, **out = elements;
	static const int inner[] = {[CONFIG_ENGINE] = ENGINE_GRAPH, [PLAN_CONFIG] = CONFIG_ENGINE};
	int result = NOT_SUPPORTED;

	if (type != OF_DESCRIPTOR || !count)
		return NOT_SUPPORTED;
	pthread_mutex_lock(&lock);
	if (from->type == HEURISTICS && name == HEURISTICS_RESULTS) {
		result = results(from, asked, count, out);
	} else if (asked > 0 && (name == CONFIG_ENGINE || name == PLAN_CONFIG)) {
		of = referred(referred(from, name), inner[name]);
		if (of)
			fill(*out, inner[name], of);
		*count = 1;
		result = of ? SUCCESS : BAD_PARAM;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* «type10_» and the extents of all tensors that an operation refers to. */
static void name_of(const struct descriptor *operation, char *out, size_t size)
{
	int length = snprintf(out, size, "type%d", operation->type);

	for (int name = 0; name < NAME_END; name++) {
		struct attribute *attribute = find((struct descriptor *)operation, name);
		struct descriptor *tensor = attribute && attribute->type == OF_DESCRIPTOR
						    ? *(struct descriptor **)attribute->elements
						    : NULL;
		struct attribute *extents =
			tensor && tensor->type == TENSOR ? find(tensor, TENSOR_EXTENTS) : NULL;

		for (int64_t i = 0; extents && i < extents->count && (size_t)length < size; i++)
			length += snprintf(out + length, size - (size_t)length, "_%" PRId64,
					   ((int64_t *)extents->elements)[i]);
	}
}

int cudnnBackendExecute(void *handle, void *plan, void *variant)
{
	struct descriptor *graph =
		referred(referred(referred(plan, PLAN_CONFIG), CONFIG_ENGINE), ENGINE_GRAPH);
	struct attribute *operations = graph ? find(graph, GRAPH_OPERATIONS) : NULL;
	char name[128] = "from_file";

	if (!handle || !variant || (!operations && !find(plan, PLAN_JSON)))
		return BAD_PARAM;
	if (operations)
		name_of(*(struct descriptor **)operations->elements, name, sizeof(name));
	return kp_fake_kernel(((struct handle *)handle)->stream, name) == FAKE_SUCCESS
		       ? SUCCESS
		       : NOT_SUPPORTED;
}
