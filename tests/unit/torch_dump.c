#include "torch_dump.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/torch_tensor.h"

/* What a file or a text is not: the end of a test, or of a tool for tests. */
static void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "torch_dump: not so: %s\n", what);
	abort();
}
#define NEED(condition) need(condition, #condition)

/* ---- reading ---- */

static unsigned digit(char c)
{
	NEED(isxdigit((unsigned char)c));
	return (unsigned)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
}

/* Two digits a byte; [n]: n bytes of 0. */
static void read_bytes(const char *text, struct torch_record *record)
{
	unsigned char *bytes = calloc(1, TORCH_DUMP_BYTES);
	size_t size = 0;

	NEED(bytes);
	while (*text) {
		NEED(size < TORCH_DUMP_BYTES);
		if (*text == '[') {
			char *end;

			size += strtoul(text + 1, &end, 10);
			NEED(*end == ']');
			text = end + 1;
		} else {
			bytes[size++] = (unsigned char)(digit(text[0]) << 4 | digit(text[1]));
			text += 2;
		}
	}
	NEED(size <= TORCH_DUMP_BYTES);
	/* Of its size, so that a sanitizer sees what is read behind it. */
	record->bytes[record->count] = malloc(size);
	NEED(record->bytes[record->count]);
	memcpy(record->bytes[record->count], bytes, size);
	record->sizes[record->count++] = size;
	free(bytes);
}

static bool is_line(const char *line, const char *word, const char **rest)
{
	size_t length = strlen(word);

	*rest = line + length;
	return strncmp(line, word, length) == 0;
}

static void copy(char *out, size_t size, const char *text)
{
	size_t length = strlen(text);

	/* What is longer is no name that is known. */
	length = length < size ? length : size - 1;
	memcpy(out, text, length);
	out[length] = '\0';
}

static void read_line(const char *line, struct torch_case *out)
{
	struct torch_record *record = out->count ? &out->records[out->count - 1] : NULL;
	const char *rest;

	if (is_line(line, "KERNEL ", &rest)) {
		out->records = realloc(out->records, (out->count + 1) * sizeof(*out->records));
		NEED(out->records);
		record = &out->records[out->count++];
		memset(record, 0, sizeof(*record));
		copy(record->name, sizeof(record->name), rest);
	} else if (is_line(line, "SEQ ", &rest)) {
		NEED(out->sequence_count < 8);
		copy(out->sequences[out->sequence_count++], TORCH_DUMP_TEXT, rest);
	} else if (record && is_line(line, "GRID ", &rest)) {
		char *end = (char *)(uintptr_t)rest;

		for (int i = 0; i < 3; i++)
			record->grid[i] = (uint32_t)strtoul(end, &end, 10);
	} else if (record && record->count == TORCH_DUMP_PARAMS && is_line(line, "P ", &rest)) {
		return; /* of no kernel that is known */
	} else if (record && is_line(line, "P ", &rest)) {
		read_bytes(rest, record);
	} else if (record && is_line(line, "IS ", &rest)) {
		copy(record->expected, sizeof(record->expected), rest);
	} else {
		NEED(*line == '#' || *line == '\0');
	}
}

bool torch_dump_next(FILE *file, struct torch_case *out)
{
	static char line[2 * TORCH_DUMP_BYTES + 16];
	long begin = ftell(file);
	bool found = false;

	memset(out, 0, sizeof(*out));
	for (; fgets(line, sizeof(line), file); begin = ftell(file)) {
		const char *rest;
		bool is_case = is_line(line, "CASE ", &rest);

		line[strcspn(line, "\n")] = '\0';
		if (is_case && found) {
			fseek(file, begin, SEEK_SET);
			return true;
		}
		if (is_case)
			copy(out->name, sizeof(out->name), rest);
		else
			read_line(line, out);
		found = found || is_case;
	}
	return found;
}

void torch_dump_free(struct torch_case *unit)
{
	for (size_t i = 0; i < unit->count; i++)
		for (size_t k = 0; k < unit->records[i].count; k++)
			free(unit->records[i].bytes[k]);
	free(unit->records);
}

bool torch_dump_decode(const struct torch_record *record, struct kp_torch_launch *out)
{
	const void *params[TORCH_DUMP_PARAMS];
	struct kp_torch_kind kind;

	for (size_t i = 0; i < record->count; i++)
		params[i] = record->bytes[i];
	return kp_torch_launch_classify(record->name, record->sizes, record->count, &kind) &&
	       kp_torch_launch_decode(&kind, params, record->grid, out);
}

void torch_dump_write(FILE *file, const struct torch_record *record)
{
	fprintf(file, "KERNEL %s\nGRID %u %u %u\n", record->name, record->grid[0], record->grid[1],
		record->grid[2]);
	for (size_t i = 0; i < record->count; i++) {
		fputs("P ", file);
		for (size_t k = 0, zeros; k < record->sizes[i]; k += zeros >= 4 ? zeros : 1) {
			for (zeros = 0; k + zeros < record->sizes[i]; zeros++)
				if (record->bytes[i][k + zeros] != 0)
					break;
			if (zeros >= 4)
				fprintf(file, "[%zu]", zeros);
			else
				fprintf(file, "%02x", record->bytes[i][k]);
		}
		fputc('\n', file);
	}
}

/* ---- describing ---- */

static const char *op_name(uint8_t op)
{
	static const char *const names[] = {
#define NAME(NAME, key, scalars, what) key,
		KP_TORCH_OPS(NAME)
#undef NAME
	};

	return names[op];
}

static const char *sequence_name(uint8_t kind)
{
	static const char *const names[] = {
#define NAME(NAME, key, inputs, outputs, what) key,
		KP_TORCH_SEQUENCES(NAME)
#undef NAME
	};

	return names[kind];
}

struct text {
	char *at, *end;
};

static void advance(struct text *text, int length)
{
	NEED(length >= 0 && length < text->end - text->at);
	text->at += length;
}

#define add(text, ...)                                                                             \
	advance(text, snprintf((text)->at, (size_t)((text)->end - (text)->at), __VA_ARGS__))

static void add_tensor(struct text *text, const struct kp_torch_tensor *tensor)
{
	add(text, " %llx", (unsigned long long)tensor->address);
	switch (tensor->type) {
#define NAME(NAME, code, bytes, mangled)                                                           \
	case KP_TORCH_##NAME:                                                                      \
		add(text, " %s", #NAME);                                                           \
		break;
		KP_TORCH_TYPES(NAME)
#undef NAME
	default:
		add(text, " OPAQUE%u", kp_torch_type_bytes(tensor->type));
		break;
	}
	for (uint8_t i = 0; i < tensor->dims; i++)
		add(text, " %u:%llu", tensor->sizes[i], (unsigned long long)tensor->strides[i]);
}

void torch_dump_describe(const struct kp_torch_launch *launch, char text[TORCH_DUMP_TEXT])
{
	struct text out = {text, text + TORCH_DUMP_TEXT};

	add(&out, "%s%s", op_name(launch->op), launch->seen == KP_TORCH_SEEN_GPU ? "" : " (host)");
	if (launch->scalars[0] != 0 || launch->scalars[1] != 0)
		add(&out, " %.9g %.9g", launch->scalars[0], launch->scalars[1]);
	add(&out, " vector %u reduced %u along %u:", launch->vector, launch->reduced,
	    launch->along);
	for (uint8_t i = 0; i < launch->outputs + launch->inputs; i++) {
		if (i > 0)
			add(&out, "%s", i == launch->outputs ? " <-" : ",");
		add_tensor(&out, &launch->tensors[i]);
	}
}

void torch_dump_describe_sequence(const struct kp_torch_sequence *sequence,
				  char text[TORCH_DUMP_TEXT])
{
	struct text out = {text, text + TORCH_DUMP_TEXT};

	add(&out, "%s%s %u launches %llu x %llu eps %.9g scale %.9g%s%s%s:",
	    sequence_name(sequence->kind), sequence->seen == KP_TORCH_SEEN_GPU ? "" : " (host)",
	    sequence->launches, (unsigned long long)sequence->rows,
	    (unsigned long long)sequence->columns, sequence->eps, sequence->scale,
	    sequence->in_place ? " in place" : "", sequence->overwrites ? " overwrites" : "",
	    sequence->reuses ? " reuses" : "");
	for (uint8_t i = 0; i < sequence->output_count; i++) {
		if (i > 0)
			add(&out, ",");
		add_tensor(&out, &sequence->outputs[i]);
	}
	for (uint8_t i = 0; i < sequence->input_count; i++) {
		add(&out, "%s", i > 0 ? "," : " <-");
		add_tensor(&out, &sequence->inputs[i]);
	}
	add(&out, " and %u intermediates", sequence->intermediate_count);
}
