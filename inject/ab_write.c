/* The lines of an A/B run; see ab_state.h and trace/ab_results.h. */
#include "inject/ab_state.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)1 << 18)

static struct {
	char bytes[BUFFER_BYTES];
	size_t used;
	bool torn; /* a line did not fit: the rest of it is left out, too */
} buffer;

void kp_ab_write_open(const char *path)
{
	memset(&buffer, 0, sizeof(buffer));
	kp_output_open(&kp_ab.results, path); /* what fails is tried again at each flush */
	kp_ab_write("{\"ab\":{\"version\":%d,\"pid\":%ld,\"mode\":%u}}\n", KP_AB_RESULTS_VERSION,
		    (long)getpid(), kp_ab.plan.header->mode);
}

/* Where what was added does not fit, its line is cut off, and the next one begins a new line. */
void kp_ab_write(const char *format, ...)
{
	size_t room = sizeof(buffer.bytes) - buffer.used;
	bool ends = format[strlen(format) - 1] == '\n';
	va_list arguments;
	int length = 0;

	if (!buffer.torn) {
		va_start(arguments, format);
		length = vsnprintf(buffer.bytes + buffer.used, room, format, arguments);
		va_end(arguments);
	}
	if (length < 0 || (size_t)length >= room) {
		while (buffer.used > 0 && buffer.bytes[buffer.used - 1] != '\n')
			buffer.used--;
		buffer.torn = !ends;
		return;
	}
	buffer.used += (size_t)length;
	if (ends)
		buffer.torn = false;
}

struct kp_ab_number kp_ab_number(double value)
{
	struct kp_ab_number out = {"null"};

	if (isfinite(value))
		snprintf(out.text, sizeof(out.text), "%.9g", value);
	for (char *at = out.text; *at; at++) /* another locale's decimal point */
		if (*at == ',')
			*at = '.';
	return out;
}

void kp_ab_write_counts(void)
{
	for (uint32_t i = 0; i < kp_ab.plan.header->rules.count; i++) {
		kp_ab_write("{\"counts\":{\"pid\":%ld,\"rule\":%u", (long)getpid(), i);
		for (int j = 0; j < KP_AB_COUNT_COUNT; j++)
			kp_ab_write(",\"%s\":%llu", kp_ab_count_names[j],
				    (unsigned long long)atomic_load(&kp_ab.counts[i][j]));
		for (int j = 0; j < KP_AB_REASON_COUNT; j++)
			kp_ab_write(",\"%s\":%llu", kp_ab_reason_names[j],
				    (unsigned long long)atomic_load(&kp_ab.reasons[i][j]));
		kp_ab_write("}}\n");
	}
}

/* Whole lines alone: another process appends to the same file. */
void kp_ab_write_flush(void)
{
	size_t whole = buffer.used, done = 0;

	while (whole > 0 && buffer.bytes[whole - 1] != '\n')
		whole--;
	if (whole == 0 || !kp_output_check(&kp_ab.results))
		return;
	while (done < whole) {
		ssize_t got = write(kp_ab.results.fd, buffer.bytes + done, whole - done);

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	memmove(buffer.bytes, buffer.bytes + done, buffer.used - done);
	buffer.used -= done;
}
