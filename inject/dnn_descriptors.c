/* Descriptors by address; see dnn_descriptors.h. */
#include "inject/dnn_descriptors.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "inject/dnn_graph.h"
#include "trace/vector.h"

/* cudnnBackendAttributeType_t */
enum { OF_TYPE = 1, OF_BOOL = 2, OF_INT64 = 3, OF_MODE = 14, OF_DESCRIPTOR = 15, OF_OPERATOR = 18 };

/* cudnnBackendAttributeName_t */
enum {
	POINTWISE_MODE = 0,
	CONVOLUTION_DILATIONS = 102,
	CONVOLUTION_STRIDES = 103,
	CONVOLUTION_BEHIND = 104,
	CONVOLUTION_BEFORE = 105,
	GRAPH_OPERATIONS = 801,
	TENSOR_TYPE = 901,
	TENSOR_EXTENTS = 902,
	TENSOR_STRIDES = 903,
	TENSOR_IS_INTERNAL = 907,
	TENSOR_IS_SCALAR = 908,
	VARIANT_FIRST = 1000,
	VARIANT_WORKSPACE = 1003,
	VARIANT_SHAPES = 1011,
	REDUCTION_OPERATOR = 1600
};

/* A place of the table: open addressing, no gaps. */
struct record {
	void *descriptor; /* NULL: free */
	uint32_t type;    /* enum kp_dnn_type, or an operation's */
	uint32_t value;   /* of a mode: itself + 1; of graphs to plans: the call's number + 1 */
	void *data;       /* a tensor, a convolution or an operation; NULL: nothing is known */
};

static struct {
	pthread_mutex_t lock;
	struct record *records;
	size_t count, capacity; /* capacity: a power of two, or 0 */
	size_t bytes;           /* of data */
	struct kp_library_call *calls;
	size_t call_count, call_capacity;
} dnn = {.lock = PTHREAD_MUTEX_INITIALIZER};

void kp_dnn_forget(void)
{
	const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&dnn, 0, sizeof(dnn));
	dnn.lock = fresh;
}

/* ---- the table ---- */

static size_t home_of(const void *descriptor, size_t capacity)
{
	return (size_t)(((uintptr_t)descriptor >> 4) * 0x9e3779b97f4a7c15ULL >> 32) &
	       (capacity - 1);
}

/* Its place, or the free one where it would be. The table is never full. */
static struct record *place_of(struct record *records, size_t capacity, const void *descriptor)
{
	size_t at = home_of(descriptor, capacity);

	while (records[at].descriptor && records[at].descriptor != descriptor)
		at = (at + 1) & (capacity - 1);
	return &records[at];
}

static struct record *find(const void *descriptor)
{
	struct record *record;

	if (!dnn.capacity || !descriptor)
		return NULL;
	record = place_of(dnn.records, dnn.capacity, descriptor);
	return record->descriptor ? record : NULL;
}

static bool enlarge(void)
{
	size_t capacity = dnn.capacity ? 2 * dnn.capacity : 256;
	struct record *records = calloc(capacity, sizeof(*records));

	if (!records)
		return false;
	for (size_t i = 0; i < dnn.capacity; i++)
		if (dnn.records[i].descriptor)
			*place_of(records, capacity, dnn.records[i].descriptor) = dnn.records[i];
	free(dnn.records);
	dnn.records = records;
	dnn.capacity = capacity;
	return true;
}

static size_t bytes_of(uint32_t type)
{
	switch (type) {
	case KP_DNN_POINTWISE:
	case KP_DNN_REDUCTION:
	case KP_DNN_ENGINE:
	case KP_DNN_ENGINE_CONFIG:
	case KP_DNN_HEURISTICS:
	case KP_DNN_PLAN:
	case KP_DNN_GRAPH:
	case KP_DNN_VARIANT:
		return 0;
	case KP_DNN_TENSOR:
		return sizeof(struct kp_dnn_tensor);
	case KP_DNN_CONVOLUTION:
		return sizeof(struct kp_dnn_convolution);
	default:
		return sizeof(struct kp_dnn_operation);
	}
}

/* Takes a record out, and moves those up that stand behind it because of it. */
static void take_out(struct record *record)
{
	size_t mask = dnn.capacity - 1, hole = (size_t)(record - dnn.records);

	dnn.bytes -= record->data ? bytes_of(record->type) : 0;
	free(record->data);
	dnn.count--;
	for (size_t at = (hole + 1) & mask; dnn.records[at].descriptor; at = (at + 1) & mask) {
		size_t home = home_of(dnn.records[at].descriptor, dnn.capacity);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		dnn.records[hole] = dnn.records[at];
		hole = at;
	}
	dnn.records[hole] = (struct record){0};
}

static void add(void *descriptor, uint32_t type)
{
	size_t bytes = bytes_of(type);
	struct record *record = find(descriptor);

	if (record)
		take_out(record); /* its end was not seen */
	if (dnn.count >= KP_DNN_DESCRIPTORS_MOST || dnn.bytes + bytes > KP_DNN_BYTES_MOST ||
	    (2 * (dnn.count + 1) > dnn.capacity && !enlarge()))
		return;
	record = place_of(dnn.records, dnn.capacity, descriptor);
	*record = (struct record){.descriptor = descriptor, .type = type};
	dnn.count++;
	if (!bytes)
		return;
	record->data = calloc(1, bytes);
	if (record->data)
		dnn.bytes += bytes;
	if (record->data && bytes == sizeof(struct kp_dnn_operation))
		((struct kp_dnn_operation *)record->data)->type = type;
}

/* Whether descriptors of a type say anything about shapes. */
static bool is_of_interest(int type)
{
	static const unsigned char none[] = {6, 7, 8, 9, 18, 24, 32, 34, 38};

	if (type < 0 || type == KP_DNN_VARIANT)
		return false;
	for (size_t i = 0; i < sizeof(none); i++)
		if (type == none[i])
			return false;
	return true;
}

void kp_dnn_created(void *descriptor, int type)
{
	int error = errno;

	if (!descriptor || !is_of_interest(type))
		return;
	pthread_mutex_lock(&dnn.lock);
	add(descriptor, (uint32_t)type);
	pthread_mutex_unlock(&dnn.lock);
	errno = error;
}

void kp_dnn_destroyed(void *descriptor)
{
	int error = errno;
	struct record *record;

	pthread_mutex_lock(&dnn.lock);
	record = find(descriptor);
	if (record)
		take_out(record);
	pthread_mutex_unlock(&dnn.lock);
	errno = error;
}

/* ---- attributes ---- */

static void copy_extents(int64_t *out, size_t most, int64_t count, const int64_t *elements)
{
	for (size_t i = 0; i < most; i++)
		out[i] = (int64_t)i < count ? elements[i] : 0;
}

static void set_tensor(struct kp_dnn_tensor *tensor, int name, int type, int64_t count,
		       const void *elements)
{
	if (name == TENSOR_TYPE && type == OF_TYPE) {
		tensor->type = kp_dnn_type_code(*(const int *)elements);
	} else if (name == TENSOR_EXTENTS && type == OF_INT64) {
		tensor->rank = count < KP_DNN_RANK ? (uint32_t)count : KP_DNN_RANK;
		copy_extents(tensor->extents, KP_DNN_RANK, count, elements);
	} else if (name == TENSOR_STRIDES && type == OF_INT64) {
		copy_extents(tensor->strides, KP_DNN_RANK, count, elements);
	} else if (name == TENSOR_IS_INTERNAL && type == OF_BOOL) {
		tensor->internal = *(const unsigned char *)elements != 0;
	} else if (name == TENSOR_IS_SCALAR && type == OF_BOOL) {
		tensor->scalar = *(const unsigned char *)elements != 0;
	}
}

static void set_convolution(struct kp_dnn_convolution *convolution, int name, int type,
			    int64_t count, const int64_t *elements)
{
	int64_t *out = name == CONVOLUTION_DILATIONS ? convolution->dilations
		       : name == CONVOLUTION_STRIDES ? convolution->strides
		       : name == CONVOLUTION_BEHIND  ? convolution->behind
		       : name == CONVOLUTION_BEFORE  ? convolution->before
						     : NULL;

	if (!out || type != OF_INT64)
		return;
	convolution->rank = count < KP_DNN_SPATIAL ? (uint32_t)count : KP_DNN_SPATIAL;
	copy_extents(out, KP_DNN_SPATIAL, count, elements);
}

static void add_tensor(struct kp_dnn_operation *operation, uint32_t name,
		       const struct kp_dnn_tensor *tensor)
{
	uint32_t at = 0;

	while (at < operation->tensor_count && operation->attributes[at] != name)
		at++;
	if (at == KP_DNN_TENSORS)
		return;
	operation->attributes[at] = name;
	operation->tensors[at] = *tensor;
	if (at == operation->tensor_count)
		operation->tensor_count++;
}

/* An operation refers to tensors, and to what says how it is done. */
static void set_operation(struct kp_dnn_operation *operation, int name, const struct record *of)
{
	if (of->type == KP_DNN_POINTWISE || of->type == KP_DNN_REDUCTION)
		operation->mode = of->value;
	else if (of->type == KP_DNN_CONVOLUTION && of->data)
		operation->convolution = *(const struct kp_dnn_convolution *)of->data;
	else if (of->type == KP_DNN_TENSOR && of->data)
		add_tensor(operation, (uint32_t)name, of->data);
}

/* The number of a call + 1; 0: there are too many. */
static uint32_t number_call(const struct kp_library_call *call)
{
	for (size_t i = dnn.call_count; i > 0; i--)
		if (memcmp(&dnn.calls[i - 1], call, sizeof(*call)) == 0)
			return (uint32_t)i;
	if (dnn.call_count >= KP_DNN_CALLS_MOST ||
	    !kp_vector_grow((void **)&dnn.calls, dnn.call_count, &dnn.call_capacity, sizeof(*call)))
		return 0;
	dnn.calls[dnn.call_count++] = *call;
	return (uint32_t)dnn.call_count;
}

static uint32_t call_of_graph(int64_t count, void *const *descriptors)
{
	const struct kp_dnn_operation *operations[KP_DNN_OPERATIONS];
	struct kp_library_call call;

	if (count < 1 || count > KP_DNN_OPERATIONS)
		return 0;
	for (int64_t i = 0; i < count; i++) {
		const struct record *record = find(descriptors[i]);

		if (!record || !record->data ||
		    bytes_of(record->type) != sizeof(struct kp_dnn_operation))
			return 0;
		operations[i] = record->data;
	}
	return kp_dnn_describe(operations, (size_t)count, &call) ? number_call(&call) : 0;
}

static bool has_call(uint32_t type)
{
	return type == KP_DNN_GRAPH || (type >= KP_DNN_ENGINE && type <= KP_DNN_PLAN);
}

static void refer(struct record *record, int name, int64_t count, void *const *descriptors)
{
	const struct record *of = count > 0 ? find(descriptors[0]) : NULL;

	if (record->type == KP_DNN_GRAPH && name == GRAPH_OPERATIONS)
		record->value = call_of_graph(count, descriptors);
	else if (of && has_call(record->type) && has_call(of->type))
		record->value = of->value;
	else if (of && record->data && bytes_of(record->type) == sizeof(struct kp_dnn_operation))
		set_operation(record->data, name, of);
}

static void set(struct record *record, int name, int type, int64_t count, const void *elements)
{
	bool is_mode =
		(record->type == KP_DNN_POINTWISE && name == POINTWISE_MODE && type == OF_MODE) ||
		(record->type == KP_DNN_REDUCTION && name == REDUCTION_OPERATOR &&
		 type == OF_OPERATOR);

	if (is_mode)
		record->value = (uint32_t) * (const int *)elements + 1;
	else if (type == OF_DESCRIPTOR)
		refer(record, name, count, elements);
	else if (record->type == KP_DNN_TENSOR && record->data)
		set_tensor(record->data, name, type, count, elements);
	else if (record->type == KP_DNN_CONVOLUTION && record->data)
		set_convolution(record->data, name, type, count, elements);
}

void kp_dnn_set(void *descriptor, int name, int type, int64_t count, const void *elements)
{
	int error = errno;
	struct record *record;

	/* What every execution says: which addresses. */
	if (count < 1 || (name >= VARIANT_FIRST && name <= VARIANT_WORKSPACE))
		return;
	pthread_mutex_lock(&dnn.lock);
	if (name == VARIANT_SHAPES)
		add(descriptor, KP_DNN_VARIANT);
	record = find(descriptor);
	if (record)
		set(record, name, type, count, elements);
	pthread_mutex_unlock(&dnn.lock);
	errno = error;
}

void kp_dnn_got(void *descriptor, int name, int type, int64_t count, const void *elements)
{
	void *const *descriptors = elements;
	int error = errno;
	const struct record *record;

	(void)name;
	if (type != OF_DESCRIPTOR || count < 1)
		return;
	pthread_mutex_lock(&dnn.lock);
	record = find(descriptor);
	for (int64_t i = 0; record && has_call(record->type) && i < count; i++) {
		struct record *filled = find(descriptors[i]);

		if (filled && has_call(filled->type))
			filled->value = record->value;
	}
	pthread_mutex_unlock(&dnn.lock);
	errno = error;
}

bool kp_dnn_call(void *plan, void *variant, struct kp_library_call *call)
{
	const struct record *record;
	bool known;

	pthread_mutex_lock(&dnn.lock);
	record = find(plan);
	known = record && record->type == KP_DNN_PLAN && record->value && !find(variant);
	if (known)
		*call = dnn.calls[record->value - 1];
	pthread_mutex_unlock(&dnn.lock);
	return known;
}
