/*
 * An injection library for test_fake_cupti: notes in the environment how often it was called, and
 * what the driver answered meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	static int calls;
	char text[32];
	int devices = -1;

	cuDeviceGetCount(&devices);
	snprintf(text, sizeof(text), "%d of %d", ++calls, devices);
	setenv("KP_TEST_INJECTED", text, 1);
	return 1;
}
