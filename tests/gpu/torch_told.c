/*
 * torch_told FILE: what recorded launches of PyTorch's kernels tell (torch_dump.h). Writes the
 * file's cases with an IS for every launch and a SEQ for every sequence, as
 * tests/recorded/torch_launches has them; whatever FILE says of these is not looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/torch_dump.h"

/* The launches of a case, decoded as far as they are known. */
struct told {
	struct kp_torch_launch *launches;
	bool *known;
};

/* The longest sequence that begins with launch `first`; 0: none. */
static size_t find_longest(const struct told *told, size_t count, size_t first,
			   struct kp_torch_sequence *out)
{
	struct kp_torch_sequence sequence;
	size_t best = 0;

	for (size_t n = 1; first + n <= count && told->known[first + n - 1]; n++) {
		enum kp_torch_match match =
			kp_torch_sequence_match(&told->launches[first], n, &sequence);

		if (match == KP_TORCH_MATCH_NO)
			break;
		if (match == KP_TORCH_MATCH_WHOLE) {
			best = n;
			*out = sequence;
		}
	}
	return best;
}

static void tell_launches(const struct torch_case *unit, struct told *told)
{
	char text[TORCH_DUMP_TEXT];

	printf("CASE %s\n", unit->name);
	for (size_t i = 0; i < unit->count; i++) {
		const struct torch_record *record = &unit->records[i];

		told->known[i] = torch_dump_decode(record, &told->launches[i]);
		memcpy(text, "not known", sizeof("not known"));
		if (told->known[i])
			torch_dump_describe(&told->launches[i], text);
		torch_dump_write(stdout, record);
		printf("IS %s\n", text);
	}
}

static void tell_sequences(const struct torch_case *unit, const struct told *told)
{
	char text[TORCH_DUMP_TEXT];

	for (size_t i = 0; i < unit->count;) {
		struct kp_torch_sequence sequence;
		size_t length = find_longest(told, unit->count, i, &sequence);

		i += length ? length : 1;
		if (length == 0)
			continue;
		torch_dump_describe_sequence(&sequence, text);
		printf("SEQ %s\n", text);
	}
}

static bool tell(const struct torch_case *unit)
{
	struct told told = {calloc(unit->count + 1, sizeof(*told.launches)),
			    calloc(unit->count + 1, sizeof(*told.known))};
	bool made = told.launches && told.known;

	if (made) {
		tell_launches(unit, &told);
		tell_sequences(unit, &told);
	}
	free(told.launches);
	free(told.known);
	return made;
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	struct torch_case unit;

	if (!file) {
		fputs("usage: torch_told FILE\n", stderr);
		return 2;
	}
	while (torch_dump_next(file, &unit)) {
		if (!tell(&unit))
			return 1;
		torch_dump_free(&unit);
	}
	fclose(file);
	return 0;
}
