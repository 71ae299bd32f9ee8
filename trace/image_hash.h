/*
 * A number for a piece of device code, as programs hand it to the driver: XXH3 of its bytes. The
 * same build of the same code has the same one in every run. Thread-safe.
 */
#ifndef KP_TRACE_IMAGE_HASH_H
#define KP_TRACE_IMAGE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * Of a cubin (ELF), a fatbin or its wrapper, or PTX with a NUL behind it; how long it is, it says
 * itself. 0: it is none of these, or makes no sense.
 */
uint64_t kp_image_hash(const void *image);
/* Of one that lies in a file, of which this is all. A file of PTX may lack the NUL. */
uint64_t kp_image_hash_of(const void *image, size_t length);

#endif
