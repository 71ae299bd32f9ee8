/* Calls and kernels in order; see host_match.h. */
#include "analyzers/host_match.h"

#include <string.h>

static bool is_unknown(const uint32_t size[3])
{
	return !size[0] && !size[1] && !size[2];
}

static bool same_size(const uint32_t call[3], const uint32_t group[3])
{
	return is_unknown(call) || memcmp(call, group, 3 * sizeof(call[0])) == 0;
}

static bool agree(const struct kp_match_shape *call, const struct kp_match_shape *group)
{
	if (call->graph != group->graph)
		return false;
	if (call->graph)
		return group->kernels <= call->kernels;
	return same_size(call->grid, group->grid) && same_size(call->block, group->block);
}

/* Whether the group's kernel started after the call began, as far as is known. */
static bool is_after(const struct kp_match_shape *group, const struct kp_match_shape *call)
{
	return !group->at_ns || call->at_ns <= group->at_ns + KP_MATCH_SLACK_NS;
}

static void match_whole(const struct kp_match_shape *calls, size_t call_count,
			const struct kp_match_shape *groups, size_t group_count, size_t *call_of)
{
	for (size_t i = 0; i < group_count; i++)
		call_of[i] = i < call_count && agree(&calls[i], &groups[i]) ? i : KP_MATCH_NONE;
}

/* The earliest call from `from` on that the group can be of. */
static size_t first_fit(const struct kp_match_shape *calls, size_t call_count, size_t from,
			const struct kp_match_shape *group, size_t *effort)
{
	size_t end = call_count - from < KP_MATCH_REACH ? call_count : from + KP_MATCH_REACH;

	for (size_t i = from; i < end && *effort && is_after(group, &calls[i]); i++, --*effort)
		if (agree(&calls[i], group))
			return i;
	return KP_MATCH_NONE;
}

/* The latest call before `end` that the group can be of. */
static size_t last_fit(const struct kp_match_shape *calls, size_t end,
		       const struct kp_match_shape *group, size_t *effort)
{
	size_t begin = end < KP_MATCH_REACH ? 0 : end - KP_MATCH_REACH;

	for (size_t i = end; i-- > begin && *effort; --*effort)
		if (agree(&calls[i], group))
			return i;
	return KP_MATCH_NONE;
}

/* From the last group to the first; ties those for which the earliest call is the latest too. */
static void match_backwards(const struct kp_match_shape *calls, size_t call_count,
			    const struct kp_match_shape *groups, size_t group_count,
			    const size_t *earliest, size_t effort, size_t *call_of)
{
	size_t end = call_count;

	for (size_t i = group_count; i-- > 0;) {
		size_t latest;

		/* What a group is too early for, those before it are too early for as well. */
		while (end > 0 && !is_after(&groups[i], &calls[end - 1]))
			end--;
		latest = last_fit(calls, end, &groups[i], &effort);
		if (latest != KP_MATCH_NONE)
			end = latest;
		call_of[i] = latest == earliest[i] ? latest : KP_MATCH_NONE;
	}
}

void kp_match_in_order(const struct kp_match_shape *calls, size_t call_count,
		       const struct kp_match_shape *groups, size_t group_count, bool whole,
		       size_t *scratch, size_t *call_of)
{
	const size_t effort = KP_MATCH_EFFORT * (call_count + group_count + KP_MATCH_REACH);
	size_t from = 0, left = effort;

	for (size_t i = 0; i < group_count && !whole; i++) {
		scratch[i] = first_fit(calls, call_count, from, &groups[i], &left);
		if (scratch[i] != KP_MATCH_NONE)
			from = scratch[i] + 1;
	}
	if (whole)
		match_whole(calls, call_count, groups, group_count, call_of);
	else
		match_backwards(calls, call_count, groups, group_count, scratch, effort, call_of);
	for (size_t i = 0; i < group_count; i++)
		if (call_of[i] != KP_MATCH_NONE && calls[call_of[i]].contended)
			call_of[i] = KP_MATCH_NONE;
}
