/* Stretches of time, and which phase a range is; see phases.h. */
#include "analyzers/phases.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trace/vector.h"

const char *const kp_phase_names[KP_PHASE_COUNT] = {
#define WORD(name, word) [KP_PHASE_##name] = (word),
	KP_PHASES(WORD)
#undef WORD
};

/* What may stand beside the phase in a range's name and leaves it the whole phase. */
static const char *const companions[] = {
	"batch", "execute", "forward", "generate", "iter", "iteration", "llm",  "loop",
	"model", "pass",    "phase",   "request",  "run",  "stage",     "step", "token",
};

static bool is_word(const char *bytes, size_t length, const char *word)
{
	return strlen(word) == length && strncasecmp(bytes, word, length) == 0;
}

static bool is_companion(const char *bytes, size_t length)
{
	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions); i++)
		if (is_word(bytes, length, companions[i]))
			return true;
	return false;
}

/* The next word, of letters only; 0: none. */
static size_t next_word(struct kp_text text, size_t *at)
{
	size_t begin;

	while (*at < text.length && !isalpha((unsigned char)text.bytes[*at]))
		++*at;
	begin = *at;
	while (*at < text.length && isalpha((unsigned char)text.bytes[*at]))
		++*at;
	return *at - begin;
}

static enum kp_phase phase_word(const char *bytes, size_t length)
{
	unsigned phase = 0;

	while (phase < KP_PHASE_COUNT && !is_word(bytes, length, kp_phase_names[phase]))
		phase++;
	return (enum kp_phase)phase;
}

enum kp_phase kp_phase_of(struct kp_text name)
{
	enum kp_phase found = KP_PHASE_COUNT;
	size_t at = 0, length;

	while ((length = next_word(name, &at)) > 0) {
		const char *bytes = name.bytes + at - length;
		enum kp_phase phase = phase_word(bytes, length);

		if (phase == KP_PHASE_COUNT && is_companion(bytes, length))
			continue;
		if (phase == KP_PHASE_COUNT || found != KP_PHASE_COUNT)
			return KP_PHASE_COUNT;
		found = phase;
	}
	return found;
}

enum kp_status kp_stretches_add(struct kp_stretches *stretches, uint64_t begin_ns, uint64_t end_ns)
{
	if (kp_time_quality(begin_ns, end_ns) != KP_TIME_VALID ||
	    stretches->count == KP_STRETCHES_MAX) {
		stretches->left_out++;
		return KP_OK;
	}
	if (!kp_vector_grow((void **)&stretches->items, stretches->count, &stretches->capacity,
			    sizeof(*stretches->items)))
		return KP_NO_MEMORY;
	stretches->items[stretches->count++] = (struct kp_stretch){begin_ns, end_ns};
	return KP_OK;
}

static int by_begin(const void *left, const void *right)
{
	const struct kp_stretch *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static void sort(struct kp_stretches *stretches)
{
	if (stretches->count)
		qsort(stretches->items, stretches->count, sizeof(*stretches->items), by_begin);
}

void kp_stretches_join(struct kp_stretches *stretches)
{
	size_t kept = 0;

	sort(stretches);
	for (size_t i = 0; i < stretches->count; i++) {
		struct kp_stretch next = stretches->items[i];

		if (!kept || stretches->items[kept - 1].end_ns < next.begin_ns)
			stretches->items[kept++] = next;
		else if (stretches->items[kept - 1].end_ns < next.end_ns)
			stretches->items[kept - 1].end_ns = next.end_ns;
	}
	stretches->count = kept;
}

void kp_stretches_part(struct kp_stretches *stretches)
{
	size_t kept = 0;

	sort(stretches);
	for (size_t i = 0; i < stretches->count; i++) {
		if (kept && stretches->items[kept - 1].end_ns > stretches->items[i].begin_ns)
			stretches->left_out++;
		else
			stretches->items[kept++] = stretches->items[i];
	}
	stretches->count = kept;
}

void kp_stretches_fini(struct kp_stretches *stretches)
{
	free(stretches->items);
	*stretches = (struct kp_stretches){0};
}
