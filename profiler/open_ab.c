/* Opening a saved report of kprof ab; see open_ab.h. */
#include "profiler/open_ab.h"

#include <stdlib.h>

#include "profiler/rules.h"
#include "profiler/say.h"

bool kp_open_ab(const char *path, struct kp_ab_saved *out)
{
	struct kp_rules_error error = {0};
	size_t length = 0;
	char *text = kp_rules_read("ab", path, &length);
	enum kp_status status;

	*out = (struct kp_ab_saved){0};
	if (!text)
		return false;
	status = kp_ab_saved_read(text, length, out, &error);
	free(text);
	if (status == KP_INVALID)
		kp_fail("--ab %s:%zu: %s", path, error.line, error.text);
	else if (status != KP_OK)
		kp_fail("--ab %s: %s", path, kp_status_message(status));
	return status == KP_OK;
}
