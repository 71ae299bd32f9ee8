/*
 * What an export writes: every event of a trace, in one shape for all formats.
 *
 * An event is a kernel's launch, a copy, a set, a range, a call that launched kernels, or a reading
 * of a counter or clock. What repeats from one event to the next (kernel, stream, grid, …) stands
 * in a template that the event names by number, so that a format renders it once. Numbers of
 * templates and texts are given in order of first appearance and never change.
 *
 * Texts are valid UTF-8 without NULs, and different bytes stay different: kernel names by
 * kp_demangle, others by kp_text_exact. Memory grows with what is distinct in the trace, not with
 * the number of its events.
 */
#ifndef KP_PROFILER_EXPORT_EVENTS_H
#define KP_PROFILER_EXPORT_EVENTS_H

#include "analyzers/operators.h"
#include "profiler/export_columns.h"
#include "trace/intern.h"
#include "trace/reader.h"

/* X(NAME, name) */
#define KP_EXPORT_KINDS(X)                                                                         \
	X(KERNEL, "kernel")                                                                        \
	X(COPY, "copy")                                                                            \
	X(SET, "set")                                                                              \
	X(RANGE, "range")                                                                          \
	X(CALL, "call")                                                                            \
	X(COUNTER, "counter")                                                                      \
	X(CLOCK, "clock")

enum kp_export_kind {
#define KP_EXPORT_ENUM(NAME, name) KP_EXPORT_##NAME,
	KP_EXPORT_KINDS(KP_EXPORT_ENUM)
#undef KP_EXPORT_ENUM
		KP_EXPORT_KIND_COUNT
};
extern const char *const kp_export_kind_names[KP_EXPORT_KIND_COUNT];

#define KP_EXPORT_ENUM(NAME, name, TYPE) KP_EXPORT_COLUMN_##NAME,
enum kp_export_fixed {
	KP_EXPORT_HEAD(KP_EXPORT_ENUM) KP_EXPORT_HEAD_COUNT,
	KP_EXPORT_FIXED_BEFORE = KP_EXPORT_HEAD_COUNT - 1,
	KP_EXPORT_TAIL(KP_EXPORT_ENUM) KP_EXPORT_FIXED_COUNT
};
enum kp_export_own { KP_EXPORT_BODY(KP_EXPORT_ENUM) KP_EXPORT_OWN_COUNT };
#undef KP_EXPORT_ENUM

struct kp_export_column {
	const char *name;
	bool text;
};
extern const struct kp_export_column kp_export_fixed_columns[KP_EXPORT_FIXED_COUNT];
extern const struct kp_export_column kp_export_own_columns[KP_EXPORT_OWN_COUNT];

struct kp_export_template {
	const struct kp_process *process;
	uint64_t has;                          /* bit of each enum kp_export_fixed that is known */
	uint64_t cells[KP_EXPORT_FIXED_COUNT]; /* TEXT: number of a text */
	uint8_t kind;                          /* enum kp_export_kind */
	uint8_t code;     /* of a copy or set: enum kp_memop_kind; of a call: enum kp_host_kind */
	bool valid;       /* the event's times can be used */
	bool unordered;   /* a range that was started and ended, not pushed and popped */
	bool written_out; /* a kernel that the order of launches gave to its operator */
};

struct kp_export_event {
	uint32_t template;
	uint32_t has; /* bit of each enum kp_export_own that is known */
	uint64_t own[KP_EXPORT_OWN_COUNT];
};

static inline bool kp_export_knows(const struct kp_export_event *event, enum kp_export_own column)
{
	return event->has >> column & 1U;
}

struct kp_export_events;

/*
 * Prepares: names and labels of all kernels. `operators` labels them; NULL: the built-in rules.
 * Reader and rules are borrowed. Errors: KP_NO_MEMORY, the reader's.
 */
enum kp_status kp_export_events_create(struct kp_reader *reader,
				       const struct kp_operators *operators,
				       struct kp_export_events **out);
void kp_export_events_destroy(struct kp_export_events *events);

/* What takes the events, some at a time; they are valid during the call. */
typedef enum kp_status kp_export_sink(void *context, const struct kp_export_event *list,
				      size_t count);
/* Delivers every event of the trace, from the beginning. Errors: KP_NO_MEMORY, KP_IO, the sink's.
 */
enum kp_status kp_export_events_each(struct kp_export_events *events, kp_export_sink *sink,
				     void *context);

/* Borrowed until the next event is delivered. */
const struct kp_export_template *kp_export_events_template(const struct kp_export_events *events,
							   uint32_t number);
size_t kp_export_events_template_count(const struct kp_export_events *events);
/* A text by its number; NUL-terminated, never moves. */
const char *kp_export_events_text(const struct kp_export_events *events, uint64_t number);
size_t kp_export_events_text_count(const struct kp_export_events *events);
/* The text of a template's column; NULL: not known. */
const char *kp_export_text_of(const struct kp_export_events *events,
			      const struct kp_export_template *template,
			      enum kp_export_fixed column);
struct kp_reader *kp_export_events_reader(const struct kp_export_events *events);

#endif
