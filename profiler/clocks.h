/* Clocks, power and temperature of a GPU in reports: as text for people, and as members of a map.
 */
#ifndef KP_PROFILER_CLOCKS_H
#define KP_PROFILER_CLOCKS_H

#include <stddef.h>

#include "analyzers/clocks.h"
#include "profiler/emit.h"

/* «SM 1980 MHz (1755 to 1980), memory 3201 MHz, 412 W (655 W at most), 58 °C»; empty: nothing
 * known. */
void kp_clocks_text(const struct kp_clocks_summary *summary, char *out, size_t size);
/* «12.3% of the time: power limit 12.3%»; empty: clocks were not lowered, as far as is known. */
void kp_clocks_throttle_text(const struct kp_clocks_summary *summary, char *out, size_t size);
/* The member `clocks` of the open map: a map, or null. */
void kp_clocks_emit(struct kp_emit *emit, const struct kp_clocks_summary *summary);

#endif
