/* Reading «module:» of A/B rules: which code a kernel must be from. */
#include <stdlib.h>
#include <string.h>

#include "analyzers/ab_rules_parts.h"

#define DIGITS 16

enum kp_status kp_ab_rules_read_module(struct kp_ab_reading *reading, int number)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	const char *text = NULL;
	enum kp_status status = number ? kp_rules_yaml_text(&reading->yaml, number, &text) : KP_OK;

	if (status != KP_OK || !number)
		return status;
	if (reading->rule.match == KP_AB_MATCH_GEMM)
		return kp_rules_yaml_fail(&reading->yaml, node, "a call has no «module»");
	if (strlen(text) != DIGITS || strspn(text, "0123456789abcdef") != DIGITS)
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "«module» is the hash of the code, 16 digits from 0 to "
					  "f: kprof ab says which there are");
	reading->rule.module = strtoull(text, NULL, 16);
	if (reading->rule.module == 0)
		reading->rule.module = KP_AB_MODULE_NONE;
	return KP_OK;
}
