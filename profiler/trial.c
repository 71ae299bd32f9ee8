/* One trial, in a process of its own; see trial.h. */
#include "profiler/trial.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/gpu.h"

#define GUARD_BYTES 4096U
#define POISON 0xa5
#define RUNS 2 /* what is wrong with what it left itself is found, too */

typedef int (*entry_function)(const int64_t *arguments, uint32_t count, void *stream);

struct trying {
	const struct kp_ab_plan *plan;
	const struct kp_ab_rule *rule;
	const struct kp_ab_trial_head *head;
	struct kp_trial *out;
	struct kp_driver driver;
	struct kp_gpu gpu;
	uint64_t memory[KP_AB_TRIAL_REGIONS_MOST]; /* of each region, guards included */
	uint64_t places[KP_AB_TRIAL_REGIONS_MOST]; /* of its data */
	int64_t values[KP_AB_ARGUMENTS_MOST];
	entry_function entry; /* one of these two */
	void *function;
};

/* ---- the file ---- */

static bool is_region(const struct kp_ab_trial_region *region, uint64_t length)
{
	return region->bytes > 0 && region->bytes <= KP_AB_TRIAL_BYTES_MOST &&
	       region->offset <= length && region->bytes <= length - region->offset;
}

static const struct kp_ab_trial_head *read_launch(const char *path, const struct kp_ab_plan *plan)
{
	const struct kp_ab_trial_head *head = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	bool good;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &about) == 0 && (size_t)about.st_size >= sizeof(*head))
		head = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (head == MAP_FAILED)
		return NULL;
	good = head->magic == KP_AB_TRIAL_MAGIC && head->version == KP_AB_TRIAL_VERSION &&
	       head->bytes == (uint64_t)about.st_size && head->rule < plan->header->rules.count &&
	       head->region_count <= KP_AB_TRIAL_REGIONS_MOST &&
	       plan->rules[head->rule].replace != KP_AB_REPLACE_BUILTIN;
	for (uint32_t i = 0; good && i < head->region_count; i++)
		good = is_region(&head->regions[i], head->bytes);
	return good ? head : NULL;
}

static const char *data_of(const struct trying *trying, uint32_t i)
{
	return (const char *)trying->head + trying->head->regions[i].offset;
}

/* ---- the GPU ---- */

static bool is_same(const struct trying *trying, int device)
{
	static const int attributes[3] = {50, 33, 34}; /* domain, bus, device on PCI */
	bool same = true;

	for (int i = 0; i < 3; i++) {
		int value = 0;

		trying->driver.device_attribute(&value, attributes[i], device);
		same &= value == trying->head->place[i];
	}
	return same;
}

/* A context on the program's GPU. */
static bool open_gpu(struct trying *trying)
{
	void *context;

	if (!kp_driver_open(&trying->driver))
		return false;
	for (int i = 0; i < trying->driver.devices; i++) {
		int device;

		if (trying->driver.device_get(&device, i) || !is_same(trying, device))
			continue;
		return trying->driver.context_retain(&context, device) == 0 &&
		       trying->driver.context_set(context) == 0;
	}
	return false;
}

static uint64_t room_of(const struct kp_ab_trial_region *region)
{
	return GUARD_BYTES + region->address % KP_AB_TRIAL_ALIGNED + region->bytes + GUARD_BYTES;
}

/* A region with its guards, as it is to be found again. The caller frees it. */
static unsigned char *picture_of(const struct trying *trying, uint32_t i)
{
	const struct kp_ab_trial_region *region = &trying->head->regions[i];
	unsigned char *picture = malloc(room_of(region));

	if (!picture)
		return NULL;
	memset(picture, POISON, room_of(region));
	memcpy(picture + (trying->places[i] - trying->memory[i]), data_of(trying, i),
	       region->bytes);
	return picture;
}

static enum kp_ab_trial_fault place(struct trying *trying, uint32_t i)
{
	const struct kp_ab_trial_region *region = &trying->head->regions[i];
	unsigned char *picture;
	bool good;

	if (trying->driver.memory_alloc(&trying->memory[i], room_of(region) + KP_AB_TRIAL_ALIGNED))
		return KP_AB_TRIAL_NO_MEMORY;
	trying->memory[i] += -trying->memory[i] % KP_AB_TRIAL_ALIGNED;
	trying->places[i] = trying->memory[i] + GUARD_BYTES + region->address % KP_AB_TRIAL_ALIGNED;
	picture = picture_of(trying, i);
	good = picture && trying->driver.copy_to(trying->memory[i], picture, room_of(region)) == 0;
	free(picture);
	return good ? KP_AB_TRIAL_NONE : KP_AB_TRIAL_NO_MEMORY;
}

/* The program's addresses become those of the copies; of two pieces, what is written. */
static int64_t moved(const struct trying *trying, int64_t value)
{
	int64_t out = 0;

	for (uint32_t i = 0; i < trying->head->region_count; i++) {
		const struct kp_ab_trial_region *region = &trying->head->regions[i];
		uint64_t offset = (uint64_t)value - region->address;
		bool written = region->role == KP_AB_OUTPUT || region->role == KP_AB_INOUT;

		if (offset < region->bytes && (out == 0 || written))
			out = (int64_t)(trying->places[i] + offset);
	}
	return out;
}

static void move_values(struct trying *trying)
{
	for (uint32_t i = 0; i < trying->rule->argument_count; i++) {
		int64_t value = trying->head->values[i];
		uint32_t type = trying->plan->arguments[trying->rule->first_argument + i].type;

		trying->values[i] = type == KP_AB_LOAD_PTR ? moved(trying, value) : value;
	}
}

/* ---- the replacement ---- */

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	char *bytes = NULL;
	struct stat about;

	if (file && fstat(fileno(file), &about) == 0 && about.st_size > 0)
		bytes = calloc(1, (size_t)about.st_size + 1); /* PTX ends with a NUL */
	if (bytes && fread(bytes, 1, (size_t)about.st_size, file) != (size_t)about.st_size) {
		free(bytes);
		bytes = NULL;
	}
	if (file)
		fclose(file);
	return bytes;
}

static bool load(struct trying *trying)
{
	const char *file = trying->plan->texts + trying->rule->file;
	const char *symbol = trying->plan->texts + trying->rule->symbol;
	void *library, *module;
	char *image;
	int error;

	if (trying->rule->replace == KP_AB_REPLACE_LIBRARY) {
		library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
		if (library)
			*(void **)&trying->entry = dlsym(library, symbol);
		return trying->entry != NULL;
	}
	image = read_file(file);
	if (!image)
		return false;
	error = trying->driver.module_load(&module, image);
	if (!error)
		error = trying->driver.module_function(&trying->function, module, symbol);
	atomic_store(&trying->out->error, error);
	return error == 0;
}

static int launch_kernel(struct trying *trying, void *stream)
{
	const struct kp_ab_trial_head *head = trying->head;
	int64_t storage[KP_AB_ARGUMENTS_MOST];
	void *arguments[KP_AB_ARGUMENTS_MOST];

	for (uint32_t i = 0; i < trying->rule->argument_count; i++) {
		float single = (float)kp_ab_double(trying->values[i]);

		storage[i] = trying->values[i];
		if (trying->plan->arguments[trying->rule->first_argument + i].type ==
		    KP_AB_LOAD_F32)
			memcpy(&storage[i], &single, sizeof(single));
		arguments[i] = &storage[i];
	}
	return trying->driver.launch(trying->function, head->grid[0], head->grid[1], head->grid[2],
				     head->block[0], head->block[1], head->block[2],
				     head->shared_bytes, stream, arguments, NULL);
}

static enum kp_ab_trial_fault launch(struct trying *trying, void *stream)
{
	int error;

	atomic_store(&trying->out->launched, 1);
	if (trying->entry) {
		error = trying->entry(trying->values, trying->rule->argument_count, stream);
		if (error)
			return KP_AB_TRIAL_REFUSED;
	} else {
		error = launch_kernel(trying, stream);
		atomic_store(&trying->out->error, error);
		if (error)
			return KP_AB_TRIAL_REFUSED;
	}
	error = trying->driver.synchronize();
	atomic_store(&trying->out->error, error);
	return error ? KP_AB_TRIAL_GPU : KP_AB_TRIAL_NONE;
}

/* ---- what it has done ---- */

static enum kp_ab_trial_fault look_at(const struct trying *trying, uint32_t i)
{
	const struct kp_ab_trial_region *region = &trying->head->regions[i];
	uint64_t bytes = room_of(region), begin = trying->places[i] - trying->memory[i];
	uint64_t end = begin + region->bytes;
	unsigned char *picture = picture_of(trying, i), *found = malloc(bytes);
	enum kp_ab_trial_fault fault = KP_AB_TRIAL_NONE;

	if (!picture || !found)
		fault = KP_AB_TRIAL_NO_MEMORY;
	else if (trying->driver.copy_from(found, trying->memory[i], bytes))
		fault = KP_AB_TRIAL_GPU;
	else if (memcmp(found, picture, begin) != 0 ||
		 memcmp(found + end, picture + end, bytes - end) != 0)
		fault = KP_AB_TRIAL_OUTSIDE;
	else if (region->role == KP_AB_INPUT &&
		 memcmp(found + begin, picture + begin, region->bytes) != 0)
		fault = KP_AB_TRIAL_INPUTS;
	free(picture);
	free(found);
	return fault;
}

static enum kp_ab_trial_fault run(struct trying *trying)
{
	enum kp_ab_trial_fault fault = KP_AB_TRIAL_NONE;
	void *stream;

	if (!open_gpu(trying) || trying->driver.stream_create(&stream, 1 /* non-blocking */))
		return KP_AB_TRIAL_NO_DRIVER;
	for (uint32_t i = 0; fault == KP_AB_TRIAL_NONE && i < trying->head->region_count; i++)
		fault = place(trying, i);
	if (fault != KP_AB_TRIAL_NONE)
		return fault;
	move_values(trying);
	if (!load(trying))
		return KP_AB_TRIAL_NOT_LOADED;
	for (int i = 0; fault == KP_AB_TRIAL_NONE && i < RUNS; i++)
		fault = launch(trying, stream);
	for (uint32_t i = 0; fault == KP_AB_TRIAL_NONE && i < trying->head->region_count; i++)
		fault = look_at(trying, i);
	return fault;
}

void kp_trial_run(const struct kp_ab_plan *plan, const char *path, struct kp_trial *out)
{
	struct trying *trying = calloc(1, sizeof(*trying));
	enum kp_ab_trial_fault fault = KP_AB_TRIAL_NO_MEMORY;

	if (trying) {
		*trying =
			(struct trying){.plan = plan, .head = read_launch(path, plan), .out = out};
		fault = KP_AB_TRIAL_NO_DATA;
	}
	if (trying && trying->head) {
		trying->rule = &plan->rules[trying->head->rule];
		fault = run(trying);
	}
	atomic_store(&out->fault, fault);
	free(trying);
}
