/* The table of export formats; see export.h. */
#include "profiler/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "profiler/text.h"

const char *const kp_export_names[KP_EXPORT_FORMAT_COUNT + 1] = {
#define X(name, extensions, shape, largest, opens) #name,
	KP_EXPORT_FORMATS(X)
#undef X
};

static const char *const export_extensions[KP_EXPORT_FORMAT_COUNT] = {
#define X(name, extensions, shape, largest, opens) extensions,
	KP_EXPORT_FORMATS(X)
#undef X
};

/* The length of the longest of `words` that a path of `length` bytes ends with; 0: none. */
static size_t longest_ending(const char *words, const char *path, size_t length)
{
	size_t longest = 0, size;

	for (; *words; words += size, words += *words == ' ') {
		size = strcspn(words, " ");
		if (size > longest && size < length &&
		    strncasecmp(path + length - size, words, size) == 0)
			longest = size;
	}
	return longest;
}

int kp_export_of_path(const char *path)
{
	size_t length = strlen(path), longest = 0;
	int found = -1;

	for (int format = 0; format < KP_EXPORT_FORMAT_COUNT; format++) {
		size_t size = longest_ending(export_extensions[format], path, length);

		if (size > longest) {
			longest = size;
			found = format;
		}
	}
	return found;
}

void kp_export_process_name(const struct kp_process *process, char *out, size_t size)
{
	const struct kp_process_info *info = &process->info;
	char part[256];
	size_t length = 0;

	if (KP_HAS(info, PROCESS, command))
		length = kp_text_visible(out, size < 200 ? size : 200, info->command.bytes,
					 info->command.length);
	else
		length = (size_t)snprintf(out, size, "process");
	if (KP_HAS(info, PROCESS, pid))
		length +=
			(size_t)snprintf(out + length, size - length, " (%" PRIu64 ")", info->pid);
	if (KP_HAS(info, PROCESS, rank) && length < size) {
		kp_text_visible(part, 40, info->rank.bytes, info->rank.length);
		length += (size_t)snprintf(out + length, size - length, " rank %s", part);
	}
	if (KP_HAS(info, PROCESS, host) && length < size) {
		kp_text_visible(part, sizeof part, info->host.bytes, info->host.length);
		snprintf(out + length, size - length, " on %s", part);
	}
}

size_t kp_export_operator_frames(const struct kp_export *job,
				 const struct kp_export_template *template, char *out, size_t size,
				 const char *frames[KP_EXPORT_OPERATOR_FRAMES])
{
	const char *name = kp_export_text_of(job->events, template, KP_EXPORT_COLUMN_OPERATOR);

	frames[0] = name ? name : "memory";
	if (!template->written_out)
		return 1;
	snprintf(out, size, "%s, written out", frames[0]);
	frames[1] = out;
	return 2;
}

const struct kp_device_info *kp_export_device(const struct kp_process *process, uint64_t device)
{
	for (size_t i = 0; i < process->device_count; i++) {
		const struct kp_device_info *info = &process->devices[i];

		if (KP_HAS(info, DEVICE, device) && info->device == device)
			return info;
	}
	return NULL;
}
