/*
 * The grammar of a demangled C++ function name, as far as reports need it.
 *
 * A signature is cut where C++ cuts it, never at the first bracket: `operator()`, `operator<`,
 * `->`, lambdas, `(anonymous namespace)`, function types and comparisons within template arguments
 * are seen for what they are. Text that is no signature (nvjet_…, triton_…, hostile bytes) is one
 * component. All spans borrow from the text. Thread-safe.
 */
#ifndef KP_ANALYZERS_SIGNATURE_H
#define KP_ANALYZERS_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

/* Part of a text: [begin, end). */
struct kp_span {
	const char *begin, *end;
};

/*
 * One step of a qualified name: `name<args>(params)`. `params` are set only where the component is
 * a function that encloses the next one, as in `foo(int)::{lambda()#1}`.
 */
struct kp_component {
	struct kp_span name; /* identifier, operator…, (anonymous namespace), {lambda(int)#1} */
	struct kp_span args; /* within the angle brackets; begin = NULL: not a template */
	struct kp_span
		params; /* within the round brackets; begin = NULL: not an enclosing function */
};

static inline size_t kp_span_length(struct kp_span span)
{
	return (size_t)(span.end - span.begin);
}

/*
 * The qualified name of the function that `full` declares, without return type and parameters; all
 * of `full` where it is no function signature. *params (may be NULL) is its parameter list.
 */
struct kp_span kp_signature_function(const char *full, struct kp_span *params);

/*
 * Takes the first component off a qualified name: `rest` then begins with the next one, or with
 * whatever follows the name. False, and nothing changed, if `rest` does not begin with a name.
 * *last says whether no further component follows.
 */
bool kp_signature_component(struct kp_span *rest, struct kp_component *out, bool *last);

/* Whether `rest` begins with a component: an identifier, (anonymous namespace) or a brace. */
bool kp_signature_starts_name(struct kp_span rest);

/* Takes the next of the comma-separated arguments off `rest`, spaces trimmed. False at the end. */
bool kp_signature_argument(struct kp_span *rest, struct kp_span *out);

/* Whether a component has no name of its own: a lambda, an operator, an anonymous namespace. */
bool kp_signature_is_nameless(const struct kp_component *component);

/* The last component of `function` with a name of its own; all of it if it is no qualified name. */
struct kp_component kp_signature_named(struct kp_span function);

#endif
