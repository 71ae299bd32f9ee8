/* Vector clocks over streams and the host; see order.h. */
#include "tests/fake_gpu/driver/order.h"

#include <pthread.h>
#include <stdlib.h>

#define LINES KP_FAKE_LINES
#define HOST 0

struct memory {
	uintptr_t at;
	size_t bytes;
	bool freed;
	unsigned writer; /* line of the last write, */
	uint32_t written, read[LINES];
	struct memory *next;
};

static struct {
	pthread_mutex_t lock;
	bool on;
	struct memory *memory;
	struct kp_fake_clock host;
	unsigned lines, violations;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER, .lines = 1};

static void join(struct kp_fake_clock *into, const struct kp_fake_clock *from)
{
	for (unsigned i = 0; i < LINES; i++)
		if (from->at[i] > into->at[i])
			into->at[i] = from->at[i];
}

static bool begin(void)
{
	pthread_mutex_lock(&own.lock);
	if (!own.on)
		pthread_mutex_unlock(&own.lock);
	return own.on;
}

static void end(void)
{
	pthread_mutex_unlock(&own.lock);
}

void kp_fake_order_start(void)
{
	pthread_mutex_lock(&own.lock);
	while (own.memory) {
		struct memory *next = own.memory->next;

		free(own.memory);
		own.memory = next;
	}
	own.violations = 0;
	own.on = true;
	pthread_mutex_unlock(&own.lock);
}

unsigned kp_fake_order_violations(void)
{
	unsigned out;

	pthread_mutex_lock(&own.lock);
	out = own.violations;
	pthread_mutex_unlock(&own.lock);
	return out;
}

static struct memory *find(const void *at)
{
	struct memory *memory = own.memory;

	while (memory && (uintptr_t)at - memory->at >= memory->bytes)
		memory = memory->next;
	return memory;
}

/* By a line whose clock this is. */
static void access(struct memory *memory, unsigned line, const struct kp_fake_clock *clock,
		   bool writes)
{
	bool ordered = !memory->freed && memory->written <= clock->at[memory->writer];

	for (unsigned i = 0; writes && i < LINES; i++)
		ordered &= memory->read[i] <= clock->at[i];
	own.violations += !ordered;
	memory->read[line] = clock->at[line];
	if (!writes)
		return;
	memory->writer = line;
	memory->written = clock->at[line];
}

void kp_fake_order_host(const void *at, bool writes)
{
	struct memory *memory;

	if (!begin())
		return;
	memory = find(at);
	own.host.at[HOST]++;
	if (memory)
		access(memory, HOST, &own.host, writes);
	end();
}

static unsigned line_of(struct CUstream_st *stream)
{
	if (!stream->line && own.lines < LINES)
		stream->line = own.lines++;
	if (!stream->line)
		abort(); /* a test with more streams needs more lines */
	return stream->line;
}

/* What the next operation of a stream is behind. */
static void gather(struct CUstream_st *stream)
{
	const struct CUctx_st *context = stream->context;

	join(&stream->clock, &own.host);
	if (stream != context->default_stream && stream->blocking)
		join(&stream->clock, &context->default_stream->clock);
	if (stream != context->default_stream)
		return;
	for (const struct CUstream_st *other = context->streams; other; other = other->next)
		if (other->blocking)
			join(&stream->clock, &other->clock);
}

static void step(struct CUstream_st *stream)
{
	gather(stream);
	stream->clock.at[line_of(stream)]++;
}

void kp_fake_order_op(struct CUstream_st *stream)
{
	if (!begin())
		return;
	step(stream);
	end();
}

void kp_fake_order_access(const struct CUstream_st *stream, const void *at, bool writes)
{
	struct memory *memory;

	if (!begin())
		return;
	memory = find(at);
	if (memory)
		access(memory, stream->line, &stream->clock, writes);
	end();
}

void kp_fake_order_kernel(struct CUstream_st *stream, const struct kp_fake_kernel *kernel,
			  void **arguments)
{
	kp_fake_order_op(stream);
	for (uint32_t i = 0; arguments && i < kernel->parameter_count; i++) {
		if (kernel->reads >> i & 1)
			kp_fake_order_access(stream, *(void **)arguments[i], false);
		if (kernel->writes >> i & 1)
			kp_fake_order_access(stream, *(void **)arguments[i], true);
	}
}

void kp_fake_order_record(struct CUevent_st *event, struct CUstream_st *stream)
{
	if (!begin())
		return;
	step(stream);
	event->clock = stream->clock;
	end();
}

void kp_fake_order_wait(struct CUstream_st *stream, const struct CUevent_st *event)
{
	if (!begin())
		return;
	step(stream);
	join(&stream->clock, &event->clock);
	end();
}

void kp_fake_order_event_reached(const struct CUevent_st *event)
{
	if (!begin())
		return;
	join(&own.host, &event->clock);
	end();
}

void kp_fake_order_stream_reached(struct CUstream_st *stream)
{
	if (!begin())
		return;
	gather(stream);
	join(&own.host, &stream->clock);
	end();
}

void kp_fake_order_context_reached(const struct CUctx_st *context)
{
	if (!begin())
		return;
	for (const struct CUstream_st *stream = context->streams; stream; stream = stream->next)
		join(&own.host, &stream->clock);
	end();
}

void kp_fake_order_watch(const void *at, size_t bytes)
{
	struct memory *memory;

	if (!begin())
		return;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		abort();
	memory->at = (uintptr_t)at;
	memory->bytes = bytes;
	memory->writer = HOST;
	memory->next = own.memory;
	own.memory = memory;
	end();
}

bool kp_fake_order_freed(const void *at, struct CUstream_st *stream)
{
	struct memory *memory;

	if (stream)
		kp_fake_order_op(stream);
	if (!begin())
		return false;
	memory = find(at);
	if (memory) {
		access(memory, stream ? stream->line : HOST, stream ? &stream->clock : &own.host,
		       true);
		memory->freed = true;
	}
	end();
	return memory != NULL;
}
