/* The address of the control socket; see control.h. */
#include "trace/control.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void kp_control_address(uint64_t pid, uint64_t start_ticks, struct sockaddr_un *out,
			socklen_t *length)
{
	int written;

	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	/* The leading NUL makes the name abstract. */
	written = snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1,
			   "kprof.%" PRIu64 ".%" PRIu64, pid, start_ticks);
	*length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)written);
}

bool kp_control_start_ticks(const char *stat, uint64_t *out)
{
	const char *at = strrchr(stat, ')'); /* the name before may hold anything */

	for (int field = 2; field < 22 && at; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at + 1, "%" SCNu64, out) == 1;
}
