/* JSON strings in memory; see export_json.h. Pure function. */
#include "profiler/export_json.h"

#include <stdio.h>

void kp_export_json(struct kp_buffer *out, const char *text)
{
	char escaped[8];

	kp_buffer_put(out, "\"", 1);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte == 0x7f)
			kp_buffer_put(out, escaped,
				      (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", byte));
		else if (byte == '"' || byte == '\\')
			kp_buffer_put(out, (char[]){'\\', (char)byte}, 2);
		else
			kp_buffer_put(out, text, 1);
	}
	kp_buffer_put(out, "\"", 1);
}
