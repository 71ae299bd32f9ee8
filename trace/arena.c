/* The arena: a list of blocks that double in size; see arena.h. */
#include "trace/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK_BYTES 4096
#define LARGEST_BLOCK_BYTES (1U << 20)

struct block {
	struct block *next;
	size_t used, size;
	alignas(max_align_t) unsigned char bytes[];
};

struct kp_arena {
	struct block *blocks; /* the one in use comes first */
	size_t total;
};

struct kp_arena *kp_arena_create(void)
{
	return calloc(1, sizeof(struct kp_arena));
}

void kp_arena_destroy(struct kp_arena *arena)
{
	if (!arena)
		return;
	for (struct block *block = arena->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	free(arena);
}

static struct block *add_block(struct kp_arena *arena, size_t least)
{
	size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK_BYTES;
	struct block *block;

	if (size > LARGEST_BLOCK_BYTES)
		size = LARGEST_BLOCK_BYTES;
	if (size < least)
		size = least;
	if (size > SIZE_MAX - sizeof(*block))
		return NULL;
	block = calloc(1, sizeof(*block) + size);
	if (!block)
		return NULL;
	block->size = size;
	block->next = arena->blocks;
	arena->blocks = block;
	arena->total += size;
	return block;
}

void *kp_arena_alloc(struct kp_arena *arena, size_t size)
{
	const size_t align = alignof(max_align_t);
	struct block *block = arena->blocks;
	void *at;

	if (size > SIZE_MAX - align)
		return NULL;
	size = (size + align - 1) / align * align;
	if (!block || block->size - block->used < size)
		block = add_block(arena, size);
	if (!block)
		return NULL;
	at = block->bytes + block->used;
	block->used += size;
	return at;
}

char *kp_arena_copy(struct kp_arena *arena, const char *bytes, size_t length)
{
	char *copy = length < SIZE_MAX ? kp_arena_alloc(arena, length + 1) : NULL;

	if (copy && length)
		memcpy(copy, bytes, length);
	return copy;
}

size_t kp_arena_bytes(const struct kp_arena *arena)
{
	return arena->total;
}
