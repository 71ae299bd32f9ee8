/* Growing arrays; see vector.h. */
#include "trace/vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16

bool kp_vector_enlarge(void **vector, size_t count, size_t *capacity, size_t element_bytes)
{
	size_t larger = *capacity ? *capacity : FIRST_CAPACITY;
	char *grown;

	while (larger < count && larger <= SIZE_MAX / 2)
		larger *= 2;
	if (larger < count)
		return false;
	grown = reallocarray(*vector, larger, element_bytes);
	if (!grown)
		return false;
	memset(grown + *capacity * element_bytes, 0, (larger - *capacity) * element_bytes);
	*vector = grown;
	*capacity = larger;
	return true;
}
