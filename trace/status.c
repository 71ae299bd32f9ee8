/* Messages of the status codes; see status.h. */
#include "trace/status.h"

static const char *const messages[KP_STATUS_COUNT] = {
#define X(name, message) message,
#include "trace/status.def"
#undef X
};

const char *kp_status_message(enum kp_status status)
{
	if ((unsigned)status >= KP_STATUS_COUNT)
		return "unknown status";
	return messages[status];
}
