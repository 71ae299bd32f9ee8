/* The hooks on CUPTI, and how they get to their places; see cupti_hooks.h. */
#include "inject/cupti_hooks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include <cupti.h>

#include "inject/detach.h"
#include "inject/elf.h"
#include "inject/loader.h"
#include "inject/modules.h"
#include "inject/share.h"
#include "inject/share_attributes.h"
#include "inject/share_clock.h"
#include "inject/words.h"

enum cupti_hook {
#define ENUM(name) HOOK_##name,
	KP_CUPTI_HOOKS(ENUM)
#undef ENUM
		HOOK_COUNT
};

static const char *const names[HOOK_COUNT] = {
#define NAME(name) "cupti" #name,
	KP_CUPTI_HOOKS(NAME)
#undef NAME
};

static _Atomic(void *) real_functions[HOOK_COUNT]; /* NULL where this CUPTI has none */
static _Atomic uintptr_t cupti_begin, cupti_end;
static _Atomic pid_t home; /* the process that the library was loaded in */

typedef CUptiResult(CUPTIAPI *subscribe_function)(CUpti_SubscriberHandle *, CUpti_CallbackFunc,
						  void *);
/* The parameters are a struct that grows; it is only handed on. */
typedef CUptiResult(CUPTIAPI *subscribe_v2_function)(CUpti_SubscriberHandle *, CUpti_CallbackFunc,
						     void *, void *);
typedef CUptiResult(CUPTIAPI *unsubscribe_function)(CUpti_SubscriberHandle);
typedef CUptiResult(CUPTIAPI *finalize_function)(void);
typedef CUptiResult(CUPTIAPI *time_function)(uint64_t *);
typedef CUptiResult(CUPTIAPI *callbacks_function)(CUpti_BuffersCallbackRequestFunc,
						  CUpti_BuffersCallbackCompleteFunc);
typedef CUptiResult(CUPTIAPI *clock_function)(CUpti_TimestampCallbackFunc);
typedef CUptiResult(CUPTIAPI *kind_function)(CUpti_ActivityKind);
typedef CUptiResult(CUPTIAPI *context_function)(CUcontext, CUpti_ActivityKind);
typedef CUptiResult(CUPTIAPI *flush_function)(CUcontext, uint32_t, uint32_t);
typedef CUptiResult(CUPTIAPI *flush_all_function)(uint32_t);
typedef CUptiResult(CUPTIAPI *dropped_function)(CUcontext, uint32_t, size_t *);

#define REAL(name, type)                                                                           \
	((type)atomic_load_explicit(&real_functions[HOOK_##name], memory_order_relaxed))

/* ---- the hooks ---- */

/* Whether a call is answered here. While kprof detaches CUPTI, calls wait for the end of that. */
static bool is_shared(void)
{
	kp_detach_wait();
	return kp_share_on();
}

static CUptiResult CUPTIAPI hook_Subscribe(CUpti_SubscriberHandle *subscriber,
					   CUpti_CallbackFunc callback, void *user)
{
	CUptiResult result;

	kp_detach_yield();
	result = REAL(Subscribe, subscribe_function)(subscriber, callback, user);
	if (result == CUPTI_SUCCESS)
		kp_share_saw_subscriber(*subscriber);
	return result;
}

static CUptiResult CUPTIAPI hook_Subscribe_v2(CUpti_SubscriberHandle *subscriber,
					      CUpti_CallbackFunc callback, void *user,
					      void *parameters)
{
	CUptiResult result;

	kp_detach_yield();
	result = REAL(Subscribe_v2, subscribe_v2_function)(subscriber, callback, user, parameters);
	if (result == CUPTI_SUCCESS)
		kp_share_saw_subscriber(*subscriber);
	return result;
}

static CUptiResult CUPTIAPI hook_Unsubscribe(CUpti_SubscriberHandle subscriber)
{
	CUptiResult result = REAL(Unsubscribe, unsubscribe_function)(subscriber);

	if (result == CUPTI_SUCCESS)
		kp_share_saw_subscriber(NULL);
	return result;
}

static CUptiResult CUPTIAPI hook_Finalize(void)
{
	CUptiResult result;

	if (is_shared())
		return kp_share_finalize();
	result = REAL(Finalize, finalize_function)();
	if (result == CUPTI_SUCCESS)
		kp_share_saw_finalize();
	return result;
}

static CUptiResult CUPTIAPI hook_GetTimestamp(uint64_t *timestamp)
{
	if (!is_shared() || !timestamp)
		return REAL(GetTimestamp, time_function)(timestamp);
	*timestamp = kp_share_clock_now();
	return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI hook_ActivityRegisterCallbacks(
	CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
	CUptiResult result;

	if (is_shared())
		return kp_share_register(request, complete);
	result = REAL(ActivityRegisterCallbacks, callbacks_function)(request, complete);
	if (result == CUPTI_SUCCESS)
		kp_share_saw_callbacks(request, complete);
	return result;
}

static CUptiResult CUPTIAPI
hook_ActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
	CUptiResult result;

	if (is_shared())
		return kp_share_register_clock(clock);
	result = REAL(ActivityRegisterTimestampCallback, clock_function)(clock);
	if (result == CUPTI_SUCCESS)
		kp_share_saw_clock(clock);
	return result;
}

/* How CUPTI is asked for a kind that only the client wants. */
static CUptiResult enable_everywhere(void *context, CUpti_ActivityKind kind)
{
	(void)context;
	return REAL(ActivityEnable, kind_function)(kind);
}

static CUptiResult enable_and_dump(void *context, CUpti_ActivityKind kind)
{
	(void)context;
	return REAL(ActivityEnableAndDump, kind_function)(kind);
}

static CUptiResult enable_in_context(void *context, CUpti_ActivityKind kind)
{
	return REAL(ActivityEnableContext, context_function)(context, kind);
}

static CUptiResult disable_everywhere(void *context, CUpti_ActivityKind kind)
{
	(void)context;
	return REAL(ActivityDisable, kind_function)(kind);
}

static CUptiResult disable_in_context(void *context, CUpti_ActivityKind kind)
{
	return REAL(ActivityDisableContext, context_function)(context, kind);
}

static CUptiResult enable(CUpti_ActivityKind kind,
			  CUptiResult (*at_cupti)(void *, CUpti_ActivityKind), void *context)
{
	CUptiResult result;

	if (is_shared())
		return kp_share_enable(kind, at_cupti, context);
	result = at_cupti(context, kind);
	if (result == CUPTI_SUCCESS)
		kp_share_saw_kind(kind, true);
	return result;
}

static CUptiResult disable(CUpti_ActivityKind kind,
			   CUptiResult (*at_cupti)(void *, CUpti_ActivityKind), void *context)
{
	CUptiResult result;

	if (is_shared())
		return kp_share_disable(kind, at_cupti, context);
	result = at_cupti(context, kind);
	if (result == CUPTI_SUCCESS)
		kp_share_saw_kind(kind, false);
	return result;
}

static CUptiResult CUPTIAPI hook_ActivityEnable(CUpti_ActivityKind kind)
{
	return enable(kind, enable_everywhere, NULL);
}

static CUptiResult CUPTIAPI hook_ActivityEnableAndDump(CUpti_ActivityKind kind)
{
	return enable(kind, enable_and_dump, NULL);
}

static CUptiResult CUPTIAPI hook_ActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return enable(kind, enable_in_context, context);
}

static CUptiResult CUPTIAPI hook_ActivityDisable(CUpti_ActivityKind kind)
{
	return disable(kind, disable_everywhere, NULL);
}

static CUptiResult CUPTIAPI hook_ActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return disable(kind, disable_in_context, context);
}

static CUptiResult CUPTIAPI hook_ActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	if (is_shared())
		return kp_share_client_flush(flag);
	return REAL(ActivityFlush, flush_function)(context, stream, flag);
}

static CUptiResult CUPTIAPI hook_ActivityFlushAll(uint32_t flag)
{
	if (is_shared())
		return kp_share_client_flush(flag);
	return REAL(ActivityFlushAll, flush_all_function)(flag);
}

static CUptiResult CUPTIAPI hook_ActivityGetAttribute(CUpti_ActivityAttribute attribute,
						      size_t *bytes, void *value)
{
	kp_attribute_function get = REAL(ActivityGetAttribute, kp_attribute_function);

	if (is_shared())
		return kp_share_attributes_get(attribute, bytes, value, get);
	return get(attribute, bytes, value);
}

static CUptiResult CUPTIAPI hook_ActivitySetAttribute(CUpti_ActivityAttribute attribute,
						      size_t *bytes, void *value)
{
	kp_attribute_function set = REAL(ActivitySetAttribute, kp_attribute_function);
	kp_attribute_function get = REAL(ActivityGetAttribute, kp_attribute_function);

	if (is_shared() && get)
		return kp_share_attributes_set(attribute, bytes, value, set, get);
	return set(attribute, bytes, value);
}

static CUptiResult CUPTIAPI hook_ActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
							      size_t *dropped)
{
	if (is_shared())
		return kp_share_client_dropped(context, stream, dropped);
	return REAL(ActivityGetNumDroppedRecords, dropped_function)(context, stream, dropped);
}

static void *const wrappers[HOOK_COUNT] = {
#define WRAPPER(name) (void *)hook_##name,
	KP_CUPTI_HOOKS(WRAPPER)
#undef WRAPPER
};

/* ---- their places ---- */

static int find_cupti(struct dl_phdr_info *info, size_t size, void *context)
{
	struct kp_module module;

	(void)size;
	(void)context;
	if (!kp_word_begins(kp_word_file(info->dlpi_name), "libcupti.so") ||
	    !kp_module_describe(info, &module))
		return 0;
	for (size_t i = 0; i < HOOK_COUNT; i++)
		atomic_store(&real_functions[i], kp_module_find(&module, names[i]));
	atomic_store(&cupti_end, module.end);
	atomic_store(&cupti_begin, module.begin);
	return 1;
}

static size_t find_name(const char *name)
{
	size_t hook = 0;

	while (hook < HOOK_COUNT && !kp_word_equal(names[hook], name))
		hook++;
	return hook;
}

bool kp_cupti_hooks_name(const char *name)
{
	return find_name(name) != HOOK_COUNT;
}

void *kp_cupti_hooks_wrapped(void *address)
{
	uintptr_t at = (uintptr_t)address;

	if (at < atomic_load(&cupti_begin) || at >= atomic_load(&cupti_end))
		return address;
	for (size_t hook = 0; hook < HOOK_COUNT; hook++)
		if (atomic_load(&real_functions[hook]) == address)
			return wrappers[hook];
	return address;
}

static void *definitions[HOOK_COUNT]; /* what the loader would bind each name to */

static void find_definitions(void)
{
	for (size_t i = 0; i < HOOK_COUNT; i++)
		definitions[i] = kp_loader_definition(names[i]);
}

static void rewrite_slot(void *context, const struct kp_module *module, const struct kp_slot *slot)
{
	size_t hook = find_name(slot->symbol);

	(void)context;
	if (hook != HOOK_COUNT)
		kp_module_replace(module, slot, atomic_load(&real_functions[hook]),
				  definitions[hook], wrappers[hook]);
}

static void rewrite_module(const struct dl_phdr_info *info)
{
	struct kp_module module;

	if (kp_module_is_program(info->dlpi_name) && kp_module_describe(info, &module))
		kp_module_slots(&module, "cupti", rewrite_slot, NULL);
}

static int read_adds(struct dl_phdr_info *info, size_t size, void *adds)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof(info->dlpi_adds))
		*(unsigned long long *)adds = info->dlpi_adds;
	return 1;
}

/*
 * A module may stand before the CUPTI that it links in the loader's list: so CUPTI is looked for
 * first, and only where it is are the modules looked at.
 */
void kp_cupti_hooks_watch(void)
{
	static struct kp_modules_seen seen;
	static _Atomic unsigned long long adds_seen;
	unsigned long long adds = 0;
	int error = errno;

	/* In a forked child the loader's lock may be held by a thread that is not there. */
	if (getpid() != atomic_load(&home) && !kp_share_on())
		return;
	kp_loader_iterate(read_adds, &adds);
	if (adds == atomic_load(&adds_seen))
		return;
	if (!atomic_load(&cupti_begin))
		kp_loader_iterate(find_cupti, NULL);
	if (atomic_load(&cupti_begin))
		kp_modules_visit_new(&seen, find_definitions, rewrite_module);
	atomic_store(&adds_seen, adds); /* last: another thread must not think it done before */
	errno = error;
}

/* Modules that the program itself links, before it runs. */
__attribute__((constructor)) static void watch_first(void)
{
	atomic_store(&home, getpid());
	kp_cupti_hooks_watch();
}
