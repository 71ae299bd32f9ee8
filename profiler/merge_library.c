/* Calls of libraries in a merge; see merge_library.h. */
#include "profiler/merge_library.h"

#include <stdlib.h>

#include "profiler/assembly.h"

static enum kp_status move_string(const struct kp_process *process, struct kp_writer *writer,
				  uint64_t *number, uint64_t above)
{
	struct kp_text text;
	uint32_t moved;

	if (*number < above) /* none */
		return KP_OK;
	text = kp_process_string(
		process, *number - above <= UINT32_MAX ? (uint32_t)(*number - above) : UINT32_MAX);
	enum kp_status status = kp_writer_intern(writer, text.bytes, text.length, &moved);
	*number = moved + above;
	return status;
}

static enum kp_status move_call(const struct kp_process *process, struct kp_writer *writer,
				size_t number, uint32_t *out)
{
	struct kp_library_call call = process->library_calls[number];
	enum kp_status status = move_string(process, writer, &call.library, 0);

	if (status == KP_OK)
		status = move_string(process, writer, &call.entry, 0);
	if (status == KP_OK)
		status = move_string(process, writer, &call.detail, 1);
	if (status == KP_OK)
		status = move_string(process, writer, &call.names, 1);
	return status == KP_OK ? kp_writer_library_call(writer, &call, out) : status;
}

enum kp_status kp_merge_library_tables(const struct kp_process *process, struct kp_writer *writer,
				       uint32_t **calls)
{
	enum kp_status status = KP_OK;

	*calls = calloc(process->library_call_count + 1, sizeof **calls);
	if (!*calls)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < process->library_call_count; i++)
		status = move_call(process, writer, i, &(*calls)[i]);
	for (size_t i = 0; status == KP_OK && i < process->library_node_count; i++) {
		struct kp_library_node node = process->library_nodes[i];

		node.call = (*calls)[node.call];
		status = kp_writer_library_node(writer, &node);
	}
	return status;
}

enum kp_status kp_merge_library_launch(const struct kp_process *process, struct kp_writer *writer,
				       const uint32_t *calls, int64_t by_ns,
				       const struct kp_library_launch *launch)
{
	struct kp_library_launch moved = *launch;

	moved.start_ns = kp_assembly_moved(moved.start_ns, by_ns);
	moved.end_ns = kp_assembly_moved(moved.end_ns, by_ns);
	if (moved.call < process->library_call_count)
		moved.call = calls[moved.call];
	return kp_writer_library(writer, &moved);
}
