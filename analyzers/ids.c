/* Stable names of the rows of a report; see ids.h. */
#include "analyzers/ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Another part, with the NUL before it: ("a", "bc") is not ("ab", "c"). */
static void add(XXH3_state_t *state, const char *part)
{
	XXH3_64bits_update(state, "", 1);
	XXH3_64bits_update(state, part, strlen(part));
}

struct kp_id kp_id_of_kernel(const struct kp_report *report, const struct kp_kernel_row *kernel)
{
	XXH3_state_t state;
	struct kp_id id;

	XXH3_INITSTATE(&state);
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, kernel->mangled, kernel->mangled_length);
	if (kernel->label_source == KP_LABEL_SEQUENCE) {
		add(&state, report->operators[kernel->operator_index].name);
		add(&state, kernel->variant ? kernel->variant : "");
	}
	snprintf(id.text, sizeof(id.text), "k-%016" PRIx64, XXH3_64bits_digest(&state));
	return id;
}

const char *kp_id_of_operator(const struct kp_operator_row *operator)
{
	return operator->name;
}
