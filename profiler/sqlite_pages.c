/* Pages of an SQLite table; see sqlite_pages.h. */
#include "profiler/sqlite_pages.h"

#include <string.h>

enum { LEAF = 0x0d, INTERIOR = 0x05, LEAF_HEADER = 8, INTERIOR_HEADER = 12 };

/* The page that holds the bytes which SQLite locks: never part of a table. */
#define LOCK_PAGE ((1U << 30) / KP_SQLITE_PAGE_BYTES + 1)
/* The longest row that stands in a leaf, and the least that stays there of a longer one. */
#define WHOLE_MAX (KP_SQLITE_PAGE_BYTES - 35)
#define PART_MIN ((KP_SQLITE_PAGE_BYTES - 12) * 32 / 255 - 23)
#define OVERFLOW_BYTES (KP_SQLITE_PAGE_BYTES - 4)

struct child {
	uint32_t page;
	int64_t last_row;
};

static void put_u16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put_u32(uint8_t *at, uint32_t value)
{
	put_u16(at, value >> 16);
	put_u16(at + 2, value);
}

/* A varint as SQLite has it: seven bits a byte, the highest first. Below 2^56. */
static size_t put_varint(uint8_t *at, uint64_t value)
{
	uint8_t reversed[8];
	size_t count = 0;

	do {
		reversed[count++] = value & 0x7f;
		value >>= 7;
	} while (value);
	for (size_t i = 0; i < count; i++)
		at[i] = (uint8_t)(reversed[count - 1 - i] | (i + 1 < count ? 0x80 : 0));
	return count;
}

static void empty(struct kp_sqlite_page *page)
{
	page->cells = 0;
	page->floor = KP_SQLITE_PAGE_BYTES;
}

void kp_sqlite_table_begin(struct kp_sqlite_table *table, struct kp_out *out, uint32_t *page_count,
			   uint32_t root)
{
	table->out = out;
	table->page_count = page_count;
	table->root = root;
	table->rows = 0;
	table->levels = 0;
	table->long_row = (struct kp_buffer){0};
	empty(&table->leaf);
	for (int i = 0; i < KP_SQLITE_LEVELS; i++)
		empty(&table->above[i]);
}

/* Whether a page has room for one more cell of `size` bytes. */
static bool has_room(const struct kp_sqlite_page *page, uint32_t header, size_t size)
{
	return page->floor >= header + 2 * (page->cells + 1) + size;
}

/* Makes room for a cell and returns where it goes. */
static uint8_t *add_cell(struct kp_sqlite_page *page, uint32_t header, size_t size)
{
	page->floor -= (uint32_t)size;
	put_u16(page->bytes + header + (size_t)2 * page->cells++, page->floor);
	return page->bytes + page->floor;
}

/* Gives a page its header; `right` is the last child of an interior one. */
static void seal(struct kp_sqlite_page *page, uint8_t kind, uint32_t right)
{
	uint32_t header = kind == LEAF ? LEAF_HEADER : INTERIOR_HEADER;
	uint32_t gap = header + 2 * page->cells;

	page->bytes[0] = kind;
	put_u16(page->bytes + 1, 0);
	put_u16(page->bytes + 3, page->cells);
	put_u16(page->bytes + 5, page->floor);
	page->bytes[7] = 0;
	if (kind == INTERIOR)
		put_u32(page->bytes + 8, right);
	memset(page->bytes + gap, 0, page->floor - gap);
}

/* The number of the next page of the file, which is about to be written. */
static uint32_t next_page(struct kp_sqlite_table *table)
{
	static const uint8_t nothing[KP_SQLITE_PAGE_BYTES];

	if (++*table->page_count == LOCK_PAGE) {
		kp_out_put(table->out, nothing, sizeof nothing);
		++*table->page_count;
	}
	return *table->page_count;
}

/* Writes a sealed page at the end of the file; returns its number. */
static uint32_t append(struct kp_sqlite_table *table, struct kp_sqlite_page *page)
{
	uint32_t number = next_page(table);

	kp_out_put(table->out, page->bytes, sizeof page->bytes);
	empty(page);
	return number;
}

static void put_child(struct kp_sqlite_page *page, struct child child)
{
	uint8_t cell[16];
	size_t size = 4 + put_varint(cell + 4, (uint64_t)child.last_row);

	put_u32(cell, child.page);
	memcpy(add_cell(page, INTERIOR_HEADER, size), cell, size);
}

/* Takes the last cell of an interior page out of it. */
static struct child take_child(struct kp_sqlite_page *page)
{
	const uint8_t *cell = page->bytes + page->floor;
	struct child child = {(uint32_t)cell[0] << 24 | (uint32_t)cell[1] << 16 |
				      (uint32_t)cell[2] << 8 | cell[3],
			      0};
	uint32_t size = 4;

	do {
		child.last_row = child.last_row << 7 | (cell[size] & 0x7f);
	} while (cell[size++] & 0x80);
	page->cells--;
	page->floor += size;
	return child;
}

/*
 * Puts a child into a level. Of a page that is full the last child moves on to the next, so that
 * the next has two at least, and the last but one becomes the right-most.
 */
static void add_child(struct kp_sqlite_table *table, int level, struct child child)
{
	for (; level < KP_SQLITE_LEVELS; level++) {
		struct kp_sqlite_page *page = &table->above[level];
		struct child last, right;

		if (level >= table->levels)
			table->levels = level + 1;
		if (has_room(page, INTERIOR_HEADER, 4 + 9)) {
			put_child(page, child);
			return;
		}
		last = take_child(page);
		right = take_child(page);
		seal(page, INTERIOR, right.page);
		right.page = append(table, page);
		put_child(page, last);
		put_child(page, child);
		child = right;
	}
}

/*
 * Writes what of a long row does not stay in its leaf as a chain of pages; returns how many bytes
 * stay, and the first of the pages.
 */
static size_t spill(struct kp_sqlite_table *table, uint32_t *first)
{
	static const uint8_t nothing[OVERFLOW_BYTES];
	const struct kp_buffer *row = &table->long_row;
	size_t stays = PART_MIN + (row->length - PART_MIN) % OVERFLOW_BYTES;

	if (stays > WHOLE_MAX)
		stays = PART_MIN;
	*first = 0;
	for (size_t at = stays; at < row->length; at += OVERFLOW_BYTES) {
		size_t left = row->length - at;
		size_t some = left < OVERFLOW_BYTES ? left : OVERFLOW_BYTES;
		uint32_t page = next_page(table), next = page + 1 + (page + 1 == LOCK_PAGE);
		uint8_t link[4];

		*first = *first ? *first : page;
		put_u32(link, left > OVERFLOW_BYTES ? next : 0);
		kp_out_put(table->out, link, sizeof link);
		kp_out_put(table->out, row->bytes + at, some);
		kp_out_put(table->out, nothing, OVERFLOW_BYTES - some);
	}
	return stays;
}

/* Room for the next row's cell, in a new leaf if the last is full. */
static uint8_t *begin_cell(struct kp_sqlite_table *table, size_t size)
{
	if (!has_room(&table->leaf, LEAF_HEADER, size)) {
		seal(&table->leaf, LEAF, 0);
		add_child(table, 0, (struct child){append(table, &table->leaf), table->rows});
	}
	table->rows++;
	return add_cell(&table->leaf, LEAF_HEADER, size);
}

static uint8_t *put_parts(uint8_t *at, const struct kp_sqlite_part *parts, size_t count)
{
	for (size_t i = 0; i < count; at += parts[i++].type_bytes)
		memcpy(at, parts[i].types, parts[i].type_bytes);
	for (size_t i = 0; i < count; at += parts[i++].value_bytes)
		memcpy(at, parts[i].values, parts[i].value_bytes);
	return at;
}

/* A row whose `payload` bytes do not fit into a page. */
static void long_row(struct kp_sqlite_table *table, const struct kp_sqlite_part *parts,
		     size_t count, size_t header, size_t payload)
{
	struct kp_buffer *row = &table->long_row;
	uint8_t head[24];
	uint32_t first;

	kp_buffer_clear(row);
	if (!kp_buffer_reserve(row, payload))
		return; /* it has failed: said at the end */
	row->length = payload;
	put_parts(row->bytes + put_varint(row->bytes, header), parts, count);
	size_t stays = spill(table, &first);
	size_t size = put_varint(head, payload);
	size += put_varint(head + size, (uint64_t)table->rows + 1);
	uint8_t *at = begin_cell(table, size + stays + 4);
	memcpy(at, head, size);
	memcpy(at + size, row->bytes, stays);
	put_u32(at + size + stays, first);
}

void kp_sqlite_table_row(struct kp_sqlite_table *table, const struct kp_sqlite_part *parts,
			 size_t count)
{
	uint8_t head[24];
	size_t types = 0, values = 0, size;

	for (size_t i = 0; i < count; i++) {
		types += parts[i].type_bytes;
		values += parts[i].value_bytes;
	}
	/* The header's length counts itself: one byte, or two from 128 on. */
	size_t header = types + (types + 1 < 0x80 ? 1 : 2);
	if (header + values > WHOLE_MAX) {
		long_row(table, parts, count, header, header + values);
		return;
	}
	size = put_varint(head, header + values);
	size += put_varint(head + size, (uint64_t)table->rows + 1);
	size += put_varint(head + size, header);
	uint8_t *at = begin_cell(table, size + types + values);
	memcpy(at, head, size);
	put_parts(at + size, parts, count);
}

enum kp_status kp_sqlite_table_end(struct kp_sqlite_table *table)
{
	struct kp_sqlite_page *top = &table->leaf;
	bool failed = table->long_row.failed;

	seal(top, LEAF, 0);
	if (table->levels > 0)
		add_child(table, 0, (struct child){append(table, top), table->rows});
	/* From below: what a level still holds becomes the last child of the one above. */
	for (int level = 0; level < table->levels; level++) {
		top = &table->above[level];
		seal(top, INTERIOR, take_child(top).page);
		if (level + 1 < table->levels)
			add_child(table, level + 1,
				  (struct child){append(table, top), table->rows});
	}
	kp_out_patch(table->out, (uint64_t)(table->root - 1) * KP_SQLITE_PAGE_BYTES, top->bytes,
		     sizeof top->bytes);
	kp_buffer_fini(&table->long_row);
	return failed ? KP_NO_MEMORY : KP_OK;
}

void kp_sqlite_count(uint8_t **types, uint8_t **values, uint64_t value)
{
	static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8};
	uint8_t type = 1;

	if (value < 2) { /* 0 and 1 have types of their own */
		*(*types)++ = (uint8_t)(8 + value);
		return;
	}
	while (type < 6 && value >> (8 * sizes[type] - 1))
		type++;
	*(*types)++ = type;
	for (uint8_t i = sizes[type]; i-- > 0;)
		*(*values)++ = (uint8_t)(value >> (8 * i));
}
