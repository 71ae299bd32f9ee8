/*
 * Runs the harness without a fuzzer, in the ordinary build:
 *   fuzz_replay [--shake] PATH…
 * PATH is a file or a folder of files. With --shake each file is also tried cut off at every
 * length, and with every byte inverted, both with broken and with mended checksums.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "chunks.h"
#include "harness.h"

/* Larger files are not shaken: the work grows with the square of the size. */
#define SHAKE_MAX_BYTES 16384
#define FILE_MAX_BYTES (8L << 20)

struct replay {
	bool shake;
	size_t files, inputs;
};

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(FILE_MAX_BYTES);

	if (!file || !bytes) {
		perror(path);
		exit(2);
	}
	*size = fread(bytes, 1, FILE_MAX_BYTES, file);
	fclose(file);
	return bytes;
}

/* An input in a block of its own size, so that a read past its end is found. */
static void run(struct replay *replay, const uint8_t *bytes, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		exit(2);
	memcpy(exact, bytes, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	replay->inputs++;
}

static void shake(struct replay *replay, uint8_t *bytes, size_t size)
{
	uint8_t *mended = malloc(size ? size : 1);

	if (!mended)
		exit(2);
	for (size_t i = 0; i < size; i++) {
		run(replay, bytes, i);
		bytes[i] ^= 0xff;
		run(replay, bytes, size);
		memcpy(mended, bytes, size);
		fuzz_mend_chunks(mended, size);
		run(replay, mended, size);
		bytes[i] ^= 0xff;
	}
	free(mended);
}

static void replay_file(struct replay *replay, const char *path)
{
	size_t size;
	uint8_t *bytes = read_file(path, &size);

	run(replay, bytes, size);
	if (replay->shake && size <= SHAKE_MAX_BYTES)
		shake(replay, bytes, size);
	free(bytes);
	replay->files++;
}

static void replay_folder(struct replay *replay, const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);

	if (count < 0) {
		perror(path);
		exit(2);
	}
	for (int i = 0; i < count; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			replay_file(replay, file);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	struct replay replay = {0};

	for (int i = 1; i < argc; i++) {
		struct stat info;

		if (strcmp(argv[i], "--shake") == 0)
			replay.shake = true;
		else if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode))
			replay_folder(&replay, argv[i]);
		else
			replay_file(&replay, argv[i]);
	}
	printf("%zu files, %zu inputs\n", replay.files, replay.inputs);
	return replay.files ? 0 : 2;
}
