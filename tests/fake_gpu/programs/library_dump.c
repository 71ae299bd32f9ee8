/*
 * What a trace says of library calls, as JSON, for the scenarios:
 *
 *	library_dump FILE
 *
 * For each kernel and call: how many launches; and the account of the first process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzers/library_ties.h"
#include "trace/intern.h"

struct key {
	uint32_t name, grid, call, part, graph;
};

struct dump {
	struct kp_intern keys;
	uint64_t counts[65536];
	const struct kp_process *process;
};

static enum kp_status count(void *context, const struct kp_library_tie *tie)
{
	struct dump *dump = context;
	const struct kp_launch_config *config = &dump->process->configs[tie->config];
	const struct key key = {config->name, config->grid[0], tie->call, tie->part, tie->graph};
	uint32_t number;
	enum kp_status status = kp_intern_put(&dump->keys, &key, sizeof(key), &number, NULL);

	if (status == KP_OK && number < 65536)
		dump->counts[number]++;
	return status;
}

static void print_call(const struct kp_process *process, const struct kp_library_call *call)
{
	printf(", \"library\": \"%s\", \"entry\": \"%s\"",
	       kp_process_string(process, (uint32_t)call->library).bytes,
	       kp_process_string(process, (uint32_t)call->entry).bytes);
	printf(", \"detail\": \"%s\", \"names\": \"%s\"",
	       call->detail ? kp_process_string(process, (uint32_t)call->detail - 1).bytes : "",
	       call->names ? kp_process_string(process, (uint32_t)call->names - 1).bytes : "");
#define MEMBER(name) printf(", \"of_" #name "\": %" PRIu64, call->name);
	KP_LIBRARY_CALL_MEMBERS(MEMBER)
}

static void print(const struct dump *dump, const struct kp_library_account *account)
{
	printf("{\"calls\": %" PRIu64 ", \"launches\": %" PRIu64 ", \"launches_tied\": %" PRIu64
	       ", \"launches_lost\": %" PRIu64 ", \"graph_nodes\": %" PRIu64
	       ", \"graph_launches\": %" PRIu64 ", \"kernels_untied\": %" PRIu64 ", \"rows\": [",
	       account->calls, account->launches, account->launches_tied, account->launches_lost,
	       account->graph_nodes, account->graph_launches, account->kernels_untied);
	for (uint32_t i = 0; i < dump->keys.count; i++) {
		size_t length;
		const struct key *key = (const void *)kp_intern_bytes(&dump->keys, i, &length);

		printf("%s\n{\"kernel\": \"%s\", \"grid\": %u, \"launches\": %" PRIu64
		       ", \"part\": %u, \"graph\": %u, \"tied\": %d",
		       i ? "," : "", kp_process_string(dump->process, key->name).bytes, key->grid,
		       dump->counts[i], key->part, key->graph, key->call != KP_LIBRARY_NO_CALL);
		if (key->call != KP_LIBRARY_NO_CALL)
			print_call(dump->process, &dump->process->library_calls[key->call]);
		printf("}");
	}
	printf("]}\n");
}

static enum kp_status read_event(struct kp_library_ties *ties, const struct kp_event *event)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < event->count; i++) {
		if (event->kind == KP_EVENT_LAUNCHES)
			status = kp_library_ties_add_launch(ties, &event->launches[i], 0);
		else if (event->kind == KP_EVENT_LIBRARY)
			status = kp_library_ties_add_library(ties, &event->library[i]);
	}
	return status;
}

int main(int argc, char **argv)
{
	static struct dump dump;
	const struct kp_library_visitor visitor = {&dump, count};
	struct kp_library_account account;
	struct kp_library_ties *ties;
	struct kp_reader *reader;
	struct kp_event event;
	enum kp_status status;
	size_t bad;

	if (argc != 2 || kp_reader_open((const char *const *)argv + 1, 1, &reader, &bad) != KP_OK)
		return 2;
	dump.process = kp_reader_process(reader, 0);
	ties = kp_library_ties_create(dump.process);
	while ((status = kp_reader_next(reader, &event)) == KP_OK)
		if (event.process == dump.process && read_event(ties, &event) != KP_OK)
			return 1;
	if (status != KP_END || kp_library_ties_settle(ties, true, &visitor) != KP_OK)
		return 1;
	account = kp_library_ties_account(ties);
	print(&dump, &account);
	kp_library_ties_destroy(ties);
	kp_intern_fini(&dump.keys);
	kp_reader_close(reader);
	return 0;
}
