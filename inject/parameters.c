/* Functions and the rules that they fit, and what a launch of one says; see parameters.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/parameters.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "inject/cuda_api.h"
#include "inject/hooks.h"
#include "inject/library.h"
#include "inject/library_doors.h"
#include "inject/library_table.h"
#include "inject/library_texts.h"
#include "inject/parameter_buffer.h"
#include "inject/passages.h"

#define LOOK_MOST 8U
#define FIELDS_MOST 9
/* Parameters that a kernel may have to be looked at. */
#define PARAMETERS_MOST 64U
#define ANY 0

enum { FIELD_NONE, FIELD_AT, FIELD_SCALAR, FIELD_GRID, FIELD_CAUSAL, FIELD_UNIT };

struct field {
	uint8_t kind, parameter, bytes;
	uint16_t of, offset;
};

struct rule {
	const char *pattern, *also, *from;
	uint8_t kind, type;
	const char *detail, *names;
	uint8_t parameters;
	struct field fields[FIELDS_MOST];
};

#define AT(parameter, of, offset, bytes)                                                           \
	{                                                                                          \
		FIELD_AT, parameter, bytes, of, offset                                             \
	}
#define SCALAR(n)                                                                                  \
	{                                                                                          \
		FIELD_SCALAR, n, 4, 0, 0                                                           \
	}
#define GRID(axis)                                                                                 \
	{                                                                                          \
		FIELD_GRID, axis, 4, 0, 0                                                          \
	}
#define CAUSAL(parameter, of, offset)                                                              \
	{                                                                                          \
		FIELD_CAUSAL, parameter, 1, of, offset                                             \
	}
#define UNIT(parameter, of, offset)                                                                \
	{                                                                                          \
		FIELD_UNIT, parameter, 4, of, offset                                               \
	}
#define RULE(pattern, also, from, kind, type, detail, names, parameters, ...)                      \
	{pattern, also, from, KP_LIBRARY_##kind, type, detail, names, parameters, {__VA_ARGS__}},
static const struct rule rules[] = {
#include "inject/parameter_rules.def"
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

_Atomic(_Atomic(CUfunction) *) kp_parameters_idle;
static _Atomic(CUfunction) idle[KP_PARAMETERS_PLACES];

/* Functions with a rule, or whose home is shared. `verdict`: the generation it is of << 32, and the
 * number of the fit + 1; 0: no rule. */
static struct place {
	_Atomic(CUfunction) function;
	_Atomic uint64_t verdict;
} places[KP_PARAMETERS_PLACES + LOOK_MOST];

/* What a function with a rule has: the rule, its texts, and where the last scalars stand. */
struct fit {
	const struct rule *rule;
	uint64_t detail, names;
	uint32_t offsets[FIELDS_MOST]; /* of a field's parameter, where all are in one buffer */
	uint8_t scalars[FIELDS_MOST];  /* which parameter a SCALAR is */
};
#define FITS_MOST 4096U
static struct fit fits[FITS_MOST];
/* Of each, places in the table of calls that were the last with some sizes: most come again. */
#define LASTS 8
static _Atomic uint32_t lasts[FITS_MOST][LASTS];
static _Atomic uint32_t fits_used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the fits that are made */
static _Atomic uint32_t generation = 1;

void kp_parameters_start(void)
{
	atomic_store(&kp_parameters_idle, idle);
}

void kp_parameters_stop(void)
{
	atomic_store(&kp_parameters_idle, NULL);
}

void kp_parameters_forget(void)
{
	const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	kp_parameters_stop();
	lock = fresh;
}

/* Who finds out what a function is, or that it is idle, does it for the new generation only where
 * no thread is in such a call (fit_of). */
void kp_parameters_modules_leave(void)
{
	atomic_fetch_add(&generation, 1);
	for (uint32_t i = 0; i < KP_PARAMETERS_PLACES; i++)
		atomic_store_explicit(&idle[i], NULL, memory_order_relaxed);
}

static uint64_t entry_of(const struct fit *fit)
{
	return KP_LIBRARY_ENTRY_COUNT + (uint64_t)(fit->rule - rules);
}

/* ---- which rule a function fits ---- */

typedef CUresult(CUDAAPI *name_function)(const char **, CUfunction);
typedef CUresult(CUDAAPI *info_function)(CUfunction, size_t, size_t *, size_t *);

/* The driver's functions for a CUfunction and a CUkernel: a launch takes either. */
static const struct {
	const char *name, *info;
} askings[2] = {{"cuFuncGetName", "cuFuncGetParamInfo"},
		{"cuKernelGetName", "cuKernelGetParamInfo"}};
static _Atomic(name_function) ask_name[2];
static _Atomic(info_function) ask_info[2];

static bool find_driver(void)
{
	if (atomic_load(&ask_info[1]))
		return true;
	for (int i = 0; i < 2; i++) {
		atomic_store(&ask_name[i], (name_function)kp_hooks_driver_symbol(askings[i].name));
		atomic_store(&ask_info[i], (info_function)kp_hooks_driver_symbol(askings[i].info));
	}
	return atomic_load(&ask_name[0]) && atomic_load(&ask_name[1]) &&
	       atomic_load(&ask_info[0]) && atomic_load(&ask_info[1]);
}

struct layout {
	uint32_t count, offsets[PARAMETERS_MOST], bytes[PARAMETERS_MOST];
};

/* False: the kernel has too many, or too large ones. */
static bool read_layout(CUfunction function, int how, struct layout *out)
{
	info_function ask = atomic_load(&ask_info[how]);
	size_t offset, bytes;

	for (out->count = 0; ask(function, out->count, &offset, &bytes) == CUDA_SUCCESS;
	     out->count++) {
		if (out->count == PARAMETERS_MOST || offset > UINT16_MAX || bytes > UINT16_MAX)
			return false;
		out->offsets[out->count] = (uint32_t)offset;
		out->bytes[out->count] = (uint32_t)bytes;
	}
	return true;
}

/* The last but `n` of the parameters of 4 bytes; count: there is none. */
static uint32_t find_scalar(const struct layout *layout, uint32_t n)
{
	for (uint32_t i = layout->count; i > 0; i--)
		if (layout->bytes[i - 1] == 4 && n-- == 0)
			return i - 1;
	return layout->count;
}

static bool fits_layout(const struct rule *rule, const struct layout *layout, struct fit *fit)
{
	if (rule->parameters != ANY && rule->parameters != layout->count)
		return false;
	for (int i = 0; i < FIELDS_MOST && rule->fields[i].kind != FIELD_NONE; i++) {
		const struct field *field = &rule->fields[i];
		uint32_t parameter = field->kind == FIELD_SCALAR
					     ? find_scalar(layout, field->parameter)
					     : field->parameter;

		if (field->kind == FIELD_GRID)
			continue;
		if (parameter >= layout->count ||
		    (field->kind != FIELD_SCALAR && layout->bytes[parameter] != field->of))
			return false;
		fit->scalars[i] = (uint8_t)parameter;
		fit->offsets[i] = layout->offsets[parameter];
	}
	fit->rule = rule;
	return true;
}

static const struct rule *fits_rule(CUfunction function, struct fit *fit)
{
	struct layout layout = {.count = UINT32_MAX};
	const char *name = NULL;
	int how = 0;

	if (!find_driver())
		return NULL;
	while (how < 2 && atomic_load(&ask_name[how])(&name, function) != CUDA_SUCCESS)
		how++;
	for (size_t i = 0; how < 2 && name && i < RULES; i++) {
		if (!strstr(name, rules[i].pattern) || !strstr(name, rules[i].also))
			continue;
		if (layout.count == UINT32_MAX && !read_layout(function, how, &layout))
			return NULL;
		if (fits_layout(&rules[i], &layout, fit))
			return fit->rule;
	}
	return NULL;
}

static bool is_same(const struct fit *a, const struct fit *b)
{
	return a->rule == b->rule && memcmp(a->offsets, b->offsets, sizeof(a->offsets)) == 0 &&
	       memcmp(a->scalars, b->scalars, sizeof(a->scalars)) == 0;
}

/* The number of a fit + 1, with the lock; 0: there are too many. */
static uint32_t keep(const struct fit *fit)
{
	uint32_t count = atomic_load(&fits_used);

	for (uint32_t i = 0; i < count; i++)
		if (is_same(&fits[i], fit))
			return i + 1;
	if (count == FITS_MOST)
		return 0;
	fits[count] = *fit;
	atomic_store_explicit(&fits_used, count + 1, memory_order_release);
	return count + 1;
}

static uint32_t learn(CUfunction function)
{
	int error = errno;
	struct fit fit;
	uint32_t number;

	memset(&fit, 0, sizeof(fit));
	if (!fits_rule(function, &fit)) {
		errno = error;
		return 0;
	}
	fit.detail = kp_library_texts_put(fit.rule->detail);
	fit.names = kp_library_texts_put(fit.rule->names);
	pthread_mutex_lock(&lock);
	number = keep(&fit);
	pthread_mutex_unlock(&lock);
	errno = error;
	return number;
}

/* The place of a function, or a free one that is its from now on; NULL: there is none. */
static struct place *find_place(CUfunction function)
{
	struct place *place = &places[kp_parameters_home(function)];

	for (uint32_t looks = 0; looks < LOOK_MOST; looks++, place++) {
		CUfunction found = atomic_load_explicit(&place->function, memory_order_relaxed);

		if (found == function)
			return place;
		if (!found && (atomic_compare_exchange_strong(&place->function, &found, function) ||
			       found == function))
			return place;
	}
	return NULL;
}

/* It has no rule. Where code is unloaded meanwhile, it may be another already. */
static void note_idle(CUfunction function, uint32_t now)
{
	_Atomic(CUfunction) *home = &idle[kp_parameters_home(function)];

	atomic_store(home, function);
	if (atomic_load(&generation) != now)
		atomic_store(home, NULL);
}

/* NULL: it has no rule. */
static const struct fit *fit_of(CUfunction function)
{
	struct place *place = find_place(function);
	uint32_t now = atomic_load(&generation), number;
	uint64_t verdict;

	if (!place)
		return NULL;
	verdict = atomic_load_explicit(&place->verdict, memory_order_acquire);
	number = (uint32_t)verdict;
	if (verdict >> 32 != now) {
		if (kp_passages_any(KP_PASSAGE_LEAVING))
			return NULL;
		number = learn(function);
		atomic_store_explicit(&place->verdict, (uint64_t)now << 32 | number,
				      memory_order_release);
	}
	if (number)
		return &fits[number - 1];
	note_idle(function, now);
	return NULL;
}

/* ---- what a launch says ---- */

/* Where a launch's parameters lie: one by one, or all in one buffer, as `extra` gives it. */
struct given {
	void *const *parameters; /* NULL: in the buffer */
	struct kp_parameter_buffer buffer;
};

static uint64_t read_number(const void *from, uint32_t bytes)
{
	uint64_t number = 0;

	switch (bytes) {
	case 1:
		return *(const unsigned char *)from;
	case 2:
		memcpy(&number, from, 2);
		return number;
	case 4:
		memcpy(&number, from, 4);
		return number;
	default:
		memcpy(&number, from, 8);
		return number;
	}
}

/* What a launch says. */
struct said {
	uint64_t sizes[FIELDS_MOST], causal;
	size_t count;
};

/* False: it is not what it should be. */
static inline bool read_sizes(const struct fit *fit, const struct given *given,
			      const uint32_t grid[3], struct said *said)
{
	const struct field *field = fit->rule->fields;

	for (int i = 0; i < FIELDS_MOST && field->kind != FIELD_NONE; i++, field++) {
		const unsigned char *from;
		uint64_t value;

		if (field->kind == FIELD_GRID) {
			said->sizes[said->count++] = grid[field->parameter];
			continue;
		}
		from = given->parameters ? given->parameters[fit->scalars[i]]
					 : kp_parameter_in(&given->buffer, fit->offsets[i],
							   field->offset + field->bytes);
		if (!from)
			return false;
		value = read_number(from + field->offset, field->bytes);
		if (field->kind == FIELD_CAUSAL)
			said->causal = value != 0;
		else if (field->kind != FIELD_UNIT)
			said->sizes[said->count++] = value;
		else if (value == 0 || value > 16 || (value & (value - 1)))
			return false;
	}
	return true;
}

/* Sizes that were not among the last of this function. */
static __attribute__((noinline)) uint32_t put_call(const struct fit *fit, const struct said *said)
{
	struct kp_library_call call = {.from = KP_LIBRARY_FROM_PARAMETERS};

	call.entry = entry_of(fit);
	call.kind = fit->rule->kind;
	call.a_type = call.b_type = call.d_type = fit->rule->type;
	call.detail = fit->detail;
	call.names = fit->names;
	call.causal = said->causal;
	memcpy(kp_library_sizes_to_set(&call), said->sizes, said->count * sizeof(uint64_t));
	return kp_library_table_put(&call);
}

void kp_parameters_launch_begins(CUfunction function, void *const *parameters, void *const *extra,
				 const struct kp_library_pending *pending)
{
	const struct fit *fit = function ? fit_of(function) : NULL;
	struct given given = {.parameters = parameters};
	struct said said;
	_Atomic uint32_t *last;
	uint32_t place;

	if (!fit)
		return;
	if (!parameters)
		given.buffer = kp_parameter_buffer(extra);
	said.causal = said.count = 0;
	if (!read_sizes(fit, &given, pending->grid, &said) || !said.count)
		return;
	last = &lasts[fit - fits][(said.sizes[0] ^ said.sizes[said.count - 1]) % LASTS];
	place = atomic_load_explicit(last, memory_order_relaxed);
	if (!kp_library_table_is(place, entry_of(fit), said.causal, said.sizes, said.count)) {
		place = put_call(fit, &said);
		atomic_store_explicit(last, place, memory_order_relaxed);
	}
	kp_library_alone_begins(place, pending);
}

const char *kp_parameters_from(uint64_t rule)
{
	return rule < RULES ? rules[rule].from : "";
}

const char *kp_parameters_detail(uint64_t rule)
{
	return rule < RULES ? rules[rule].detail : "";
}
