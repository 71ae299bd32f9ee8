/* The flow of data through a sequence; see ab_sequence_flow.h. */
#include "inject/ab_sequence_flow.h"

/* What is larger is an error of the rule's. */
#define BYTES_MOST ((int64_t)1 << 40)

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
	return a < b ? b - a < a_bytes : a - b < b_bytes;
}

static bool covers(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
	return a <= b && b - a <= a_bytes && b_bytes <= a_bytes - (b - a);
}

static bool is_same(const struct kp_ab_flow_buffer *buffer, uint64_t address, uint64_t bytes)
{
	return buffer->address == address && buffer->bytes == bytes;
}

/* What was written under another name, or is not there any more, is not what is meant. */
static enum kp_ab_reason read_buffer(struct kp_ab_flow *flow, uint32_t number, uint64_t address,
				     uint64_t bytes)
{
	struct kp_ab_flow_buffer *buffer = &flow->buffers[number];

	if (buffer->bound)
		return is_same(buffer, address, bytes) && !buffer->covered ? KP_AB_REASON_COUNT
									   : KP_AB_REASON_FLOW;
	for (uint32_t i = 0; i < KP_AB_BUFFERS_MOST; i++) {
		const struct kp_ab_flow_buffer *other = &flow->buffers[i];

		if (other->written && overlap(other->address, other->bytes, address, bytes))
			return KP_AB_REASON_FLOW;
	}
	*buffer = (struct kp_ab_flow_buffer){
		.address = address, .bytes = bytes, .bound = true, .taken_in = true};
	return KP_AB_REASON_COUNT;
}

static enum kp_ab_reason write_buffer(struct kp_ab_flow *flow, uint32_t number, uint64_t address,
				      uint64_t bytes)
{
	struct kp_ab_flow_buffer *buffer = &flow->buffers[number];

	if (buffer->bound && !is_same(buffer, address, bytes))
		return KP_AB_REASON_FLOW;
	for (uint32_t i = 0; i < KP_AB_BUFFERS_MOST; i++) {
		struct kp_ab_flow_buffer *other = &flow->buffers[i];

		if (i == number || !other->bound ||
		    !overlap(other->address, other->bytes, address, bytes))
			continue;
		if (!covers(address, bytes, other->address, other->bytes))
			return KP_AB_REASON_OVERLAP;
		other->covered = true;
	}
	buffer->address = address;
	buffer->bytes = bytes;
	buffer->bound = buffer->written = true;
	buffer->covered = false;
	return KP_AB_REASON_COUNT;
}

static enum kp_ab_reason add_access(struct kp_ab_flow *flow, const struct kp_ab_plan *plan,
				    const struct kp_ab_access *access,
				    const struct kp_ab_view *view)
{
	int64_t address, bytes;

	if (!kp_ab_evaluate(plan->ops + access->address.first, access->address.count, view,
			    &address) ||
	    !kp_ab_evaluate(plan->ops + access->bytes.first, access->bytes.count, view, &bytes))
		return KP_AB_REASON_UNREADABLE;
	if (address == 0)
		return KP_AB_REASON_COUNT;
	if (bytes < 1 || bytes > BYTES_MOST || (uint64_t)address > UINT64_MAX - (uint64_t)bytes)
		return KP_AB_REASON_UNREADABLE;
	return access->writes
		       ? write_buffer(flow, access->buffer, (uint64_t)address, (uint64_t)bytes)
		       : read_buffer(flow, access->buffer, (uint64_t)address, (uint64_t)bytes);
}

enum kp_ab_reason kp_ab_flow_add(struct kp_ab_flow *flow, const struct kp_ab_plan *plan,
				 const struct kp_ab_member *member, const struct kp_ab_view *view)
{
	const struct kp_ab_access *accesses = plan->accesses + member->first_access;
	enum kp_ab_reason reason = KP_AB_REASON_COUNT;

	for (uint32_t writes = 0; writes <= 1; writes++)
		for (uint32_t i = 0; reason == KP_AB_REASON_COUNT && i < member->access_count; i++)
			if (accesses[i].writes == writes)
				reason = add_access(flow, plan, &accesses[i], view);
	return reason;
}

/* The buffer that is these bytes, or a new one; BUFFERS_MOST: there are too many. */
static uint32_t find_buffer(const struct kp_ab_flow *flow, uint64_t address, uint64_t bytes)
{
	uint32_t i = 0;

	while (i < KP_AB_BUFFERS_MOST && flow->buffers[i].bound &&
	       !is_same(&flow->buffers[i], address, bytes))
		i++;
	return i;
}

enum kp_ab_reason kp_ab_flow_put(struct kp_ab_flow *flow, uint64_t address, uint64_t bytes,
				 bool writes)
{
	uint32_t number = find_buffer(flow, address, bytes);

	if (number == KP_AB_BUFFERS_MOST || bytes == 0 || bytes > (uint64_t)BYTES_MOST)
		return KP_AB_REASON_FLOW;
	return writes ? write_buffer(flow, number, address, bytes)
		      : read_buffer(flow, number, address, bytes);
}

/* Whether the replacement writes a buffer that the sequence leaves changed. */
static bool is_output(const struct kp_ab_flow_data *data, size_t count,
		      const struct kp_ab_flow_buffer *buffer)
{
	for (size_t i = 0; i < count; i++)
		if (data[i].role != KP_AB_INPUT && is_same(buffer, data[i].address, data[i].bytes))
			return true;
	return false;
}

/* What it writes the sequence writes too; what it updates is what the sequence takes in. */
static bool is_left_changed(const struct kp_ab_flow *flow, const struct kp_ab_flow_data *data)
{
	for (uint32_t i = 0; i < KP_AB_BUFFERS_MOST; i++) {
		const struct kp_ab_flow_buffer *buffer = &flow->buffers[i];

		if (buffer->written && !buffer->covered &&
		    is_same(buffer, data->address, data->bytes))
			return data->role != KP_AB_INOUT || buffer->taken_in;
	}
	return false;
}

/* What it reads the sequence takes in, all of it, and no member writes into it. */
static bool is_taken_in(const struct kp_ab_flow *flow, const struct kp_ab_flow_data *data)
{
	bool found = false;

	for (uint32_t i = 0; i < KP_AB_BUFFERS_MOST; i++) {
		const struct kp_ab_flow_buffer *buffer = &flow->buffers[i];

		if (buffer->written &&
		    overlap(buffer->address, buffer->bytes, data->address, data->bytes))
			return false;
		found |= buffer->taken_in &&
			 covers(buffer->address, buffer->bytes, data->address, data->bytes);
	}
	return found;
}

/* Two of its outputs may have come to be the same memory: then none of them is what it is called.
 */
static bool are_apart(const struct kp_ab_flow_data *data, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if ((data[i].role != KP_AB_INPUT || data[j].role != KP_AB_INPUT) &&
			    overlap(data[i].address, data[i].bytes, data[j].address, data[j].bytes))
				return false;
	return true;
}

/* Whether what the launches take in is still there behind the replacement. */
static bool is_untouched(const struct kp_ab_flow *flow, const struct kp_ab_flow_data *data,
			 size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; data[i].role != KP_AB_INPUT && j < KP_AB_BUFFERS_MOST; j++)
			if (flow->buffers[j].taken_in &&
			    overlap(flow->buffers[j].address, flow->buffers[j].bytes,
				    data[i].address, data[i].bytes))
				return false;
	return true;
}

enum kp_ab_reason kp_ab_flow_check(const struct kp_ab_flow *flow,
				   const struct kp_ab_flow_data *data, size_t count,
				   uint32_t elided, uint32_t *owed)
{
	*owed = 0;
	if (!are_apart(data, count))
		return KP_AB_REASON_OVERLAP;
	for (uint32_t i = 0; i < KP_AB_BUFFERS_MOST; i++) {
		const struct kp_ab_flow_buffer *buffer = &flow->buffers[i];

		if (buffer->written && !buffer->covered && !is_output(data, count, buffer))
			*owed |= 1U << i;
	}
	if (*owed & ~elided || (*owed && !is_untouched(flow, data, count)))
		return KP_AB_REASON_UNWRITTEN;
	for (size_t i = 0; i < count; i++) {
		if (data[i].role != KP_AB_INPUT && !is_left_changed(flow, &data[i]))
			return KP_AB_REASON_UNWRITTEN;
		if (data[i].role == KP_AB_INPUT && !is_taken_in(flow, &data[i]))
			return KP_AB_REASON_OVERLAP;
	}
	return KP_AB_REASON_COUNT;
}
