/*
 * An arena: many small allocations that go together.
 *
 * Pointers stay valid until kp_arena_destroy. Not thread-safe.
 */
#ifndef KP_TRACE_ARENA_H
#define KP_TRACE_ARENA_H

#include <stddef.h>

struct kp_arena;

/* NULL without memory. */
struct kp_arena *kp_arena_create(void);
/* NULL is allowed. */
void kp_arena_destroy(struct kp_arena *arena);
/* `size` zeroed bytes, aligned for any type; NULL without memory. */
void *kp_arena_alloc(struct kp_arena *arena, size_t size);
/* A copy of `length` bytes and a NUL behind them; NULL without memory. */
char *kp_arena_copy(struct kp_arena *arena, const char *bytes, size_t length);
/* How much it holds, bytes. */
size_t kp_arena_bytes(const struct kp_arena *arena);

#endif
