/* Descriptive records to bytes and back; see fieldset.h. */
#include "trace/fieldset.h"

enum field_type { TYPE_U64, TYPE_TEXT };

struct field {
	unsigned key;
	enum field_type type;
	size_t offset;
};

struct kp_fieldset {
	const struct field *fields; /* the index of a field is its bit in `has` */
	size_t count, size;
};

/* Every record begins with its `has`. */
#define LAYOUT(name, struct_name, LIST)                                                            \
	static const struct field name##_fields[] = {LIST};                                        \
	_Static_assert(offsetof(struct struct_name, has) == 0, "has comes first");                 \
	_Static_assert(sizeof(name##_fields) / sizeof(name##_fields[0]) <= 64, "bits of has");     \
	const struct kp_fieldset kp_##name##_fieldset = {                                          \
		name##_fields, sizeof(name##_fields) / sizeof(name##_fields[0]),                   \
		sizeof(struct struct_name)}

#define PROCESS_ROW(key, type, name) {key, TYPE_##type, offsetof(struct kp_process_info, name)},
#define DEVICE_ROW(key, type, name) {key, TYPE_##type, offsetof(struct kp_device_info, name)},
#define CLOCK_ROW(key, type, name) {key, TYPE_##type, offsetof(struct kp_clock_info, name)},
#define COUNTS_ROW(key, type, name) {key, TYPE_##type, offsetof(struct kp_counts, name)},
#define NOTE_ROW(key, type, name) {key, TYPE_##type, offsetof(struct kp_note, name)},
#define WINDOW_ROW(key, type, name) {key, TYPE_##type, offsetof(struct kp_window_info, name)},
#define COUNTERS_ROW(key, type, name) {key, TYPE_##type, offsetof(struct kp_counters_info, name)},
#define END_ROW(key, type, name) {key, TYPE_##type, offsetof(struct kp_end, name)},

LAYOUT(process, kp_process_info, KP_PROCESS_FIELDS(PROCESS_ROW));
LAYOUT(device, kp_device_info, KP_DEVICE_FIELDS(DEVICE_ROW));
LAYOUT(clock, kp_clock_info, KP_CLOCK_FIELDS(CLOCK_ROW));
LAYOUT(counts, kp_counts, KP_COUNTS_FIELDS(COUNTS_ROW));
LAYOUT(note, kp_note, KP_NOTE_FIELDS(NOTE_ROW));
LAYOUT(window, kp_window_info, KP_WINDOW_FIELDS(WINDOW_ROW));
LAYOUT(counters, kp_counters_info, KP_COUNTERS_FIELDS(COUNTERS_ROW));
LAYOUT(end, kp_end, KP_END_FIELDS(END_ROW));

static size_t varint_length(uint64_t value)
{
	size_t n = 1;

	while (value >>= 7)
		n++;
	return n;
}

void kp_fieldset_encode(const struct kp_fieldset *layout, const void *record, struct kp_buffer *out)
{
	const uint64_t has = *(const uint64_t *)record;

	for (size_t i = 0; i < layout->count; i++) {
		const struct field *field = &layout->fields[i];
		const void *member = (const char *)record + field->offset;

		if (!((has >> i) & 1))
			continue;
		kp_buffer_put_varint(out, field->key);
		if (field->type == TYPE_U64) {
			const uint64_t value = *(const uint64_t *)member;

			kp_buffer_put_varint(out, varint_length(value));
			kp_buffer_put_varint(out, value);
		} else {
			const struct kp_text *text = member;

			kp_buffer_put_varint(out, text->length);
			kp_buffer_put(out, text->bytes, text->length);
		}
	}
}

static enum kp_status decode_field(const struct field *field, struct kp_cursor *value,
				   struct kp_arena *arena, void *member)
{
	struct kp_text *text = member;

	if (field->type == TYPE_U64) {
		*(uint64_t *)member = kp_cursor_varint(value);
		return value->failed ? KP_CORRUPT : KP_OK;
	}
	text->length = kp_cursor_left(value);
	text->bytes = kp_arena_copy(arena, (const char *)value->at, text->length);
	return text->bytes ? KP_OK : KP_NO_MEMORY;
}

/* Room for a record of any kind. */
union any_record {
	uint64_t has;
	struct kp_process_info process;
	struct kp_device_info device;
	struct kp_clock_info clock;
	struct kp_counts counts;
	struct kp_note note;
	struct kp_window_info window;
	struct kp_counters_info counters;
	struct kp_end end;
};

static enum kp_status decode_fields(const struct kp_fieldset *layout, struct kp_cursor *cursor,
				    struct kp_arena *arena, union any_record *record)
{
	while (kp_cursor_left(cursor)) {
		uint64_t key = kp_cursor_varint(cursor);
		size_t length = kp_cursor_varint(cursor);
		struct kp_cursor value = kp_cursor_take(cursor, length);

		if (cursor->failed)
			return KP_CORRUPT;
		for (size_t i = 0; i < layout->count; i++) {
			const struct field *field = &layout->fields[i];
			enum kp_status status;

			if (field->key != key)
				continue;
			status = decode_field(field, &value, arena, (char *)record + field->offset);
			if (status != KP_OK)
				return status;
			record->has |= 1ULL << i;
		}
	}
	return KP_OK;
}

enum kp_status kp_fieldset_decode(const struct kp_fieldset *layout, struct kp_cursor *cursor,
				  struct kp_arena *arena, void *record)
{
	union any_record decoded;
	enum kp_status status;

	memcpy(&decoded, record, layout->size);
	status = decode_fields(layout, cursor, arena, &decoded);
	if (status == KP_OK)
		memcpy(record, &decoded, layout->size);
	return status;
}
