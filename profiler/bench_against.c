/* Runs bench_references.py and reads what it prints; see bench_against.h. */
#include "profiler/bench_against.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/library.h"
#include "profiler/say.h"

#define SCRIPT "bench_references.py"
#define LIBRARY "libkprof_bench.so"
#define STATUS_SAID 3 /* the program has said what is missing */
#define WORDS_MOST (KP_BENCH_SHAPES_MOST + 16)

extern char **environ;

/* ---- what it prints ---- */

/* A number that is finite and at least 0. */
static bool number(const cJSON *map, const char *key, double *out)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(map, key);

	if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || item->valuedouble < 0)
		return false;
	*out = item->valuedouble;
	return true;
}

static bool three(const cJSON *map, const char *key, const char *const keys[3], double *median,
		  double *least, double *most)
{
	const cJSON *inner = cJSON_GetObjectItemCaseSensitive(map, key);

	return number(inner, keys[0], median) && number(inner, keys[1], least) &&
	       number(inner, keys[2], most) && *least > 0 && *least <= *median && *median <= *most;
}

static bool time_of(const cJSON *map, const char *key, struct kp_bench_time *out)
{
	static const char *const keys[] = {"median_us", "least_us", "most_us"};

	return three(map, key, keys, &out->median_us, &out->least_us, &out->most_us);
}

static bool ratio_of(const cJSON *map, const char *key, struct kp_bench_ratio *out)
{
	static const char *const keys[] = {"median", "least", "most"};

	return three(map, key, keys, &out->median, &out->least, &out->most);
}

static bool name_of(const cJSON *map, const char *key, char out[KP_BENCH_REFERENCE_NAME])
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(map, key));
	size_t length = text ? strlen(text) : 0;

	if (length == 0 || length >= KP_BENCH_REFERENCE_NAME ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") != length)
		return false;
	memcpy(out, text, length + 1);
	return true;
}

static bool reference_of(const cJSON *map, struct kp_bench_reference *out)
{
	return name_of(map, "name", out->name) && name_of(map, "group", out->group) &&
	       time_of(map, "cold", &out->cold) && time_of(map, "hot", &out->hot) &&
	       ratio_of(map, "cold_ratio", &out->cold_ratio) &&
	       ratio_of(map, "hot_ratio", &out->hot_ratio) && number(map, "error", &out->error);
}

static bool references_of(const cJSON *map, const char *shape, struct kp_bench_references *out)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(map, "shape"));
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(map, "references"), *item;

	if (!text || strcmp(text, shape) != 0 || !cJSON_IsArray(list) ||
	    cJSON_GetArraySize(list) > KP_BENCH_REFERENCES_MOST ||
	    !time_of(map, "ours_cold", &out->ours_cold) ||
	    !time_of(map, "ours_hot", &out->ours_hot) || !number(map, "error", &out->ours_error))
		return false;
	cJSON_ArrayForEach(item,
			   list) if (!reference_of(item, &out->rows[out->count++])) return false;
	return true;
}

bool kp_bench_against_parse(const char *line, const char *shape, struct kp_bench_references *out)
{
	cJSON *map = cJSON_Parse(line);
	bool done;

	*out = (struct kp_bench_references){0};
	done = references_of(map, shape, out);
	if (!done)
		out->count = 0;
	cJSON_Delete(map);
	return done;
}

/* ---- the program ---- */

/* Its words, and what they point to. */
struct command {
	char script[PATH_MAX], library[PATH_MAX], device[24];
	char shapes[KP_BENCH_SHAPES_MOST][KP_BENCH_SHAPE_TEXT];
	const char *words[WORDS_MOST];
	size_t count;
};

static void add(struct command *command, const char *word)
{
	command->words[command->count++] = word;
	command->words[command->count] = NULL;
}

static bool begin(struct command *command, const struct kp_bench_operator *operator,
		  const char * list)
{
	const char *python = getenv("KPROF_PYTHON");

	command->count = 0;
	if (!kp_library_find_named(SCRIPT, command->script) ||
	    !kp_library_find_named(LIBRARY, command->library)) {
		kp_fail(SCRIPT " and " LIBRARY " are not beside kprof: install it anew");
		return false;
	}
	add(command, python && *python ? python : "python3");
	add(command, "-B");
	add(command, command->script);
	add(command, command->library);
	add(command, operator->name);
	add(command, "--against");
	add(command, list);
	return true;
}

/* Starts it with its standard output in `out`. */
static bool start(const struct command *command, pid_t *child, FILE **out)
{
	posix_spawn_file_actions_t actions;
	int ends[2], error;

	if (pipe(ends) != 0) {
		kp_fail("no pipe: %s", strerror(errno));
		return false;
	}
	*out = fdopen(ends[0], "r");
	error = *out ? posix_spawn_file_actions_init(&actions) : errno;
	if (!error) {
		error = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
		if (!error)
			error = posix_spawn_file_actions_addclose(&actions, ends[0]);
		if (!error && ends[1] != STDOUT_FILENO)
			error = posix_spawn_file_actions_addclose(&actions, ends[1]);
		if (!error)
			error = posix_spawnp(child, command->words[0], &actions, NULL,
					     (char *const *)(uintptr_t)command->words, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(ends[1]);
	if (!error)
		return true;
	kp_fail("%s cannot be started: %s; KPROF_PYTHON names another Python", command->words[0],
		strerror(error));
	if (*out)
		fclose(*out);
	else
		close(ends[0]);
	return false;
}

/* Waits for its end; says how it ended, unless it has. */
static bool finish(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (WIFSIGNALED(status))
		kp_fail(SCRIPT " was ended by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) != STATUS_SAID)
		kp_fail(SCRIPT " ended with %d", WEXITSTATUS(status));
	return false;
}

/* One line a shape into `out`; other lines are not ours, and are left out. Returns how many. */
static size_t read_lines(const struct command *command, FILE *file, size_t count,
			 struct kp_bench_references *out)
{
	char *line = NULL;
	size_t size = 0, found = 0;

	while (getline(&line, &size, file) >= 0)
		if (found < count &&
		    kp_bench_against_parse(line, command->shapes[found], &out[found]))
			found++;
	free(line);
	return found;
}

/* Runs it; `out` NULL: nothing is expected of it. */
static bool run(const struct command *command, size_t count, struct kp_bench_references *out)
{
	size_t found;
	pid_t child;
	FILE *file;

	if (!start(command, &child, &file))
		return false;
	found = read_lines(command, file, count, out);
	fclose(file);
	if (!finish(child))
		return false;
	if (found != count)
		kp_fail(SCRIPT " gave %zu results instead of %zu", found, count);
	return found == count;
}

bool kp_bench_against_check(const struct kp_bench_operator *operator, const char * list)
{
	struct command *command = calloc(1, sizeof(*command));
	bool done = command && begin(command, operator, list);

	if (!command)
		kp_fail("out of memory");
	if (done) {
		add(command, "--check");
		done = run(command, 0, NULL);
	}
	free(command);
	return done;
}

bool kp_bench_against(const struct kp_bench_operator *operator, const char * list, uint64_t device,
		      const struct kp_bench_shape *shapes, size_t count,
		      struct kp_bench_references **out)
{
	const struct kp_bench_form *form = kp_bench_form_of(operator);
	struct command *command = calloc(1, sizeof(*command));
	bool done = false;

	*out = calloc(count, sizeof(**out));
	if (!command || !*out)
		kp_fail("out of memory");
	else
		done = begin(command, operator, list);
	if (done) {
		snprintf(command->device, sizeof(command->device), "%llu",
			 (unsigned long long)device);
		add(command, "--device");
		add(command, command->device);
		for (size_t i = 0; i < count; i++) {
			kp_bench_shape_write(form, &shapes[i], command->shapes[i]);
			add(command, command->shapes[i]);
		}
		done = run(command, count, *out);
	}
	free(command);
	return done;
}
