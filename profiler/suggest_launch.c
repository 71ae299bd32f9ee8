/*
 * A rule for a kernel's launches; see suggest.h. C++ names hold the types of parameters, and
 * thereby their sizes, which of them are addresses, and of what; sizes of data nobody knows but the
 * kernel.
 */
#include <inttypes.h>
#include <string.h>

#include "analyzers/signature.h"
#include "profiler/shapes.h"
#include "profiler/suggest.h"
#include "trace/ab_plan.h"

#define PARAMETERS_MOST KP_AB_ARGUMENTS_MOST
#define SHARED_MOST 49152U /* dynamic, of replacements */
#define LISTED 4U
#define UNKNOWN_TYPE "bf16"
#define ADDRESSES "std::array<char*, "

/* A parameter of the kernel, as its name has it. */
struct parameter {
	struct kp_span type;
	const char *load; /* how an expression reads it; NULL: a struct, or unknown */
	uint32_t bytes;   /* 0: unknown */
	bool is_pointer, is_const;
	uint32_t addresses; /* of an array of them, by value; else 0 */
	const char *dtype; /* of what it points to; NULL: nothing that kprof compares, or unknown */
};

struct parameters {
	struct parameter items[PARAMETERS_MOST];
	uint32_t count;
	bool known; /* the name says what there are */
};

static const struct {
	const char *name, *load;
	uint32_t bytes;
} scalars[] = {
	{"int", "i32", 4},        {"unsigned int", "u32", 4},
	{"float", "f32", 4},      {"double", "f64", 8},
	{"long", "i64", 8},       {"unsigned long", "u64", 8},
	{"long long", "i64", 8},  {"unsigned long long", "u64", 8},
	{"bool", "u8", 1},        {"char", "i8", 1},
	{"signed char", "i8", 1}, {"unsigned char", "u8", 1},
	{"short", "i16", 2},      {"unsigned short", "u16", 2},
};

/* Types of elements, by what their names hold. */
static const struct {
	const char *part, *dtype;
} elements[] = {
	{"bfloat16", "bf16"}, {"BFloat16", "bf16"}, {"__half", "fp16"},
	{"Half", "fp16"},     {"half_t", "fp16"},   {"float", "fp32"},
};

static bool holds(struct kp_span text, const char *part)
{
	return memmem(text.begin, kp_span_length(text), part, strlen(part)) != NULL;
}

static bool is_text(struct kp_span text, const char *other)
{
	return kp_span_length(text) == strlen(other) &&
	       memcmp(text.begin, other, kp_span_length(text)) == 0;
}

static struct parameter read_pointer(struct kp_span type)
{
	struct parameter out = {.type = type, .load = "ptr", .bytes = 8, .is_pointer = true};
	struct kp_span target = {type.begin, type.end - 1};

	out.is_const = holds(target, "const");
	for (size_t i = 0; !out.dtype && i < sizeof elements / sizeof *elements; i++)
		if (holds(target, elements[i].part))
			out.dtype = elements[i].dtype;
	return out;
}

/* PyTorch's addresses of an elementwise kernel, by value: it writes to the first. */
static uint32_t count_addresses(struct kp_span type)
{
	uint32_t count;
	char end[2];

	if (kp_span_length(type) < sizeof ADDRESSES ||
	    memcmp(type.begin, ADDRESSES, sizeof ADDRESSES - 1) != 0 ||
	    sscanf(type.begin + sizeof ADDRESSES - 1, "%3" SCNu32 "ul%1[>]", &count, end) != 2)
		return 0;
	return count;
}

static struct parameter read_parameter(struct kp_span type)
{
	struct parameter out = {.type = type, .addresses = count_addresses(type)};

	if (out.addresses) {
		out.load = "ptr";
		out.bytes = 8 * out.addresses;
		out.is_pointer = true;
		return out;
	}
	if (kp_span_length(type) > 1 && (type.end[-1] == '*' || type.end[-1] == '&'))
		return read_pointer(type);
	for (size_t i = 0; !out.load && i < sizeof scalars / sizeof *scalars; i++)
		if (is_text(type, scalars[i].name)) {
			out.load = scalars[i].load;
			out.bytes = scalars[i].bytes;
		}
	return out;
}

/* Only C++ names have a list of parameters; more than a rule can hand on are not read. */
static struct parameters read_parameters(const struct kp_kernel_row *kernel)
{
	struct parameters out = {.known = false};
	struct kp_span list = {NULL, NULL}, type;

	if (strncmp(kernel->mangled, "_Z", 2) != 0)
		return out;
	kp_signature_function(kernel->full, &list);
	out.known = list.begin != NULL;
	while (out.known && kp_signature_argument(&list, &type) && !is_text(type, "void")) {
		if (out.count == PARAMETERS_MOST)
			return (struct parameters){.known = false};
		out.items[out.count++] = read_parameter(type);
	}
	return out;
}

/* ---- what is written ---- */

static void write_sizes(FILE *file, const struct parameters *parameters)
{
	if (!parameters->known) {
		fputs("  # ??? parameters: [8, 8, 4] the bytes of each: «cuobjdump -elf PROGRAM» "
		      "has them in\n  # .nv.info.KERNEL (EIATTR_KPARAM_INFO)\n",
		      file);
		return;
	}
	fputs("  parameters: [", file);
	for (uint32_t i = 0; i < parameters->count; i++)
		fprintf(file, "%s%" PRIu32, i ? ", " : "", parameters->items[i].bytes);
	fputs("]\n", file);
}

static void write_name(FILE *file, const struct parameter *item, uint32_t i)
{
	int length = (int)kp_span_length(item->type);

	if (!item->load) {
		fprintf(file,
			"    p%" PRIu32 ": 0 # ??? %.*s, by value: u64(%" PRIu32
			", BYTE) reads its members\n",
			i, length, item->type.begin, i);
		return;
	}
	fprintf(file, "    p%" PRIu32 ": %s(%" PRIu32 ") # %.*s\n", i, item->load, i, length,
		item->type.begin);
	for (uint32_t k = 1; k < item->addresses; k++)
		fprintf(file, "    p%" PRIu32 "_%" PRIu32 ": ptr(%" PRIu32 ", %" PRIu32 ")\n", i, k,
			i, 8 * k);
}

static void write_names(FILE *file, const struct parameters *parameters)
{
	if (parameters->count)
		fputs("  let:\n", file);
	for (uint32_t i = 0; i < parameters->count; i++)
		write_name(file, &parameters->items[i], i);
}

static void write_triple(FILE *file, const char *name, const uint32_t *values)
{
	fprintf(file, "  - %s_x == %" PRIu32 " && %s_y == %" PRIu32 " && %s_z == %" PRIu32 "\n",
		name, values[0], name, values[1], name, values[2]);
}

static void write_shapes(FILE *file, const struct kp_stability *stability)
{
	char words[160];

	for (size_t i = 0; i < stability->shape_count && i < LISTED; i++) {
		kp_shapes_describe(words, sizeof words, &stability->shapes[i]);
		fprintf(file, "  # %.1f %% of its time: %s\n", stability->shapes[i].share_pct,
			words);
	}
	if (stability->count > LISTED)
		fprintf(file, "  # and %" PRIu64 " more shapes\n", stability->count - LISTED);
}

static void write_conditions(FILE *file, const struct kp_kernel_row *kernel)
{
	write_shapes(file, kernel->stability);
	fputs("  when:\n", file);
	write_triple(file, "block", kernel->block);
	if (kernel->config_count == 1)
		write_triple(file, "grid", kernel->grid);
	fputs("  - 0 # ??? take this out at the end\n", file);
}

static void write_replacement(FILE *file, const struct kp_kernel_row *kernel,
			      const struct parameters *parameters)
{
	fputs("  replace:\n"
	      "    module: my_kernel.cubin # ??? nvcc -cubin; or library: my.so, entry: FUNCTION\n"
	      "    kernel: my_kernel # ??? its mangled name: cuobjdump -symbols my_kernel.cubin\n"
	      "    grid: [grid_x, grid_y, grid_z] # ??? the original's\n"
	      "    block: [block_x, block_y, block_z]\n",
	      file);
	if (kernel->dynamic_shared_bytes && kernel->dynamic_shared_bytes <= SHARED_MOST)
		fputs("    shared: shared\n", file);
	fputs("    arguments:\n", file);
	for (uint32_t i = 0; i < parameters->count; i++)
		if (parameters->items[i].load)
			fprintf(file, "    - %s: p%" PRIu32 "\n", parameters->items[i].load, i);
	if (parameters->count == 0)
		fputs("    - ptr: ptr(0) # ??? as your kernel takes them\n", file);
}

static void write_data(FILE *file, const struct parameter *item, uint32_t number)
{
	fprintf(file,
		"  - {name: p%" PRIu32 ", address: p%" PRIu32
		", dtype: %s, rows: 1, columns: 1} # ??? all that lies there%s\n",
		number, number, item->dtype ? item->dtype : UNKNOWN_TYPE,
		item->dtype ? "" : ", and its type");
}

/* Addresses of one kind, up to so many pieces of data; returns how many. */
static uint32_t write_side(FILE *file, const struct parameters *parameters, bool inputs,
			   uint32_t most)
{
	uint32_t written = 0;

	for (uint32_t i = 0; i < parameters->count; i++) {
		const struct parameter *item = &parameters->items[i];

		if (!item->is_pointer || item->is_const != inputs || written == most)
			continue;
		if (written++ == 0)
			fprintf(file, "  %s:%s\n", inputs ? "inputs" : "outputs",
				inputs ? "" : " # ??? those that it updates in place: inout");
		write_data(file, item, i);
	}
	return written;
}

static void write_all_data(FILE *file, const struct parameters *parameters)
{
	uint32_t written = write_side(file, parameters, false, KP_AB_TENSORS_MOST);

	if (written == 0) {
		fputs("  outputs: # ??? what it writes\n"
		      "  - {name: y, address: 'ptr(0)', dtype: " UNKNOWN_TYPE
		      ", rows: 1, columns: 1} # ??? all of it\n",
		      file);
		written = 1;
	}
	write_side(file, parameters, true, KP_AB_TENSORS_MOST - written);
	fputs("  repeatable: false # ??? true: running it twice is as running it once\n", file);
}

void kp_suggest_launch(FILE *file, const struct kp_kernel_row *kernel)
{
	struct parameters parameters = read_parameters(kernel);

	kp_suggest_name(file, kernel);
	fprintf(file, "  # %s\n", kernel->full);
	fprintf(file, "  # %.1f %% of kernel time: %" PRIu64 " launches of %.2f µs\n",
		kernel->shares.kernel_pct, kernel->calls, kernel->durations.mean_ns / 1e3);
	fputs("  kernel: ", file);
	kp_suggest_quoted(file, kernel->mangled);
	fputs("\n  # ??? module: the hash of the code that it is from, if several have that "
	      "name:\n  # with 0000000000000000 kprof ab says which\n",
	      file);
	write_sizes(file, &parameters);
	write_names(file, &parameters);
	write_conditions(file, kernel);
	write_replacement(file, kernel, &parameters);
	write_all_data(file, &parameters);
}

uint32_t kp_suggest_sizes(FILE *file, const struct kp_kernel_row *kernel)
{
	struct parameters parameters = read_parameters(kernel);

	fputs("parameters: ", file);
	if (parameters.count == 0) {
		fputs("1 # ??? how many; or the bytes of each\n", file);
		return 0;
	}
	for (uint32_t i = 0; i < parameters.count; i++)
		fprintf(file, "%s%" PRIu32, i ? ", " : "[", parameters.items[i].bytes);
	fputs("]\n", file);
	return parameters.count;
}
