/* Names of kernels for people, kept while «kprof top» runs; see top.h. */
#include <stdlib.h>
#include <string.h>

#include "analyzers/demangle.h"
#include "analyzers/names.h"
#include "tui/top.h"

/* Makes up the name of that number. Errors: KP_NO_MEMORY. */
static enum kp_status make_up(struct kp_top *top, size_t number, struct kp_text mangled)
{
	struct kp_top_name *name = &top->names[number];
	struct kp_label label;

	if (!top->arena)
		top->arena = kp_arena_create();
	/* The demangler wants a NUL behind it. */
	mangled.bytes =
		top->arena ? kp_arena_copy(top->arena, mangled.bytes, mangled.length) : NULL;
	name->full = mangled.bytes ? kp_demangle(top->arena, mangled) : NULL;
	if (!name->full)
		return KP_NO_MEMORY;
	name->brief = kp_name_shorten(top->arena, name->full, KP_NAME_BRIEF);
	if (!name->brief)
		return KP_NO_MEMORY;
	enum kp_status status = kp_operators_match(top->source.operators, name->full, &label);
	if (status == KP_OK)
		name->operator_index =
			kp_operators_variant(top->source.operators, label.variant).operator_index;
	return status;
}

enum kp_status kp_top_name(struct kp_top *top, const char *bytes, size_t length, size_t *out)
{
	uint32_t number;
	enum kp_status status = kp_intern_put(&top->mangled, bytes, length, &number, NULL);

	if (status != KP_OK)
		return status;
	*out = number;
	if (number < top->name_count)
		return KP_OK;
	struct kp_top_name *grown = realloc(top->names, (number + 1U) * sizeof *grown);
	if (!grown)
		return KP_NO_MEMORY;
	top->names = grown;
	memset(&top->names[number], 0, sizeof *grown);
	status = make_up(top, number, (struct kp_text){bytes, length});
	if (status == KP_OK)
		top->name_count = number + 1U;
	return status;
}

void kp_top_names_fini(struct kp_top *top)
{
	kp_intern_fini(&top->mangled);
	kp_arena_destroy(top->arena);
	free(top->names);
}
