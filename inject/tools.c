/* Finds other tools by the libraries that they put into programs; see tools.h. */
#include "inject/tools.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

/* How the file's name begins, and whose it is. */
static const struct {
	const char *file, *tool;
} tools[] = {
	{"/libToolsInjection", "Nsight Systems (nsys)"},
	{"/libsanitizer-collection.so", "compute-sanitizer"},
	{"/libcuda-injection.so", "Nsight Compute (ncu)"},
	{"/libInterceptorInjectionTarget.so", "Nsight Compute (ncu) or compute-sanitizer"},
	{"/libTreeLauncherTargetInjection.so", "Nsight Compute (ncu) or compute-sanitizer"},
};

static int look(struct dl_phdr_info *info, size_t size, void *found)
{
	const char *file = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	for (size_t i = 0; file && i < sizeof(tools) / sizeof(tools[0]); i++)
		if (strncmp(file, tools[i].file, strlen(tools[i].file)) == 0) {
			*(const char **)found = tools[i].tool;
			return 1;
		}
	return 0;
}

const char *kp_tools_find(void)
{
	const char *found = NULL;

	dl_iterate_phdr(look, &found);
	return found;
}
