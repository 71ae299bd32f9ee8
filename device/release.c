/* Reads the driver's own line; see release.h. */
#include "device/release.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* «NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  …»: the first word of digits, dots.
 */
bool kp_driver_release(char out[64])
{
	char text[512], *at, *rest;
	int fd = open("/proc/driver/nvidia/version", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	out[0] = '\0';
	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	for (at = strtok_r(text, " \t\n", &rest); at; at = strtok_r(NULL, " \t\n", &rest))
		if (strchr(at, '.') && strspn(at, "0123456789.") == strlen(at)) {
			snprintf(out, 64, "%s", at);
			return true;
		}
	return false;
}
