/* Finds and binds CUPTI; see cupti.h. */
#include "inject/cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/hooks.h"

/* Where a libcupti may lie, best first. %s: CUDA_HOME, or the folder of a loaded CUDA library. */
static const char *const home_patterns[] = {
	"%s/lib64/libcupti.so.1[1-9]*",
	"%s/extras/CUPTI/lib64/libcupti.so.1[1-9]*",
	"%s/targets/*/lib/libcupti.so.1[1-9]*",
	"%s/lib/libcupti.so.1[1-9]*",
};
static const char *const beside_patterns[] = {
	"%s/libcupti.so.1[1-9]*",
	"%s/../../cuda_cupti/lib/libcupti.so.1[1-9]*",
	"%s/../extras/CUPTI/lib64/libcupti.so.1[1-9]*",
};
static const char *const fixed_patterns[] = {
	"/usr/local/cuda/lib64/libcupti.so.1[1-9]*",
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.1[1-9]*",
	"/usr/local/cuda/lib/libcupti.so.1[1-9]*",
	"/usr/local/cuda-*/lib64/libcupti.so.1[1-9]*",
	"/usr/local/cuda-*/extras/CUPTI/lib64/libcupti.so.1[1-9]*",
	"/usr/local/cuda-*/targets/*/lib/libcupti.so.1[1-9]*",
	"/usr/lib/x86_64-linux-gnu/libcupti.so.1[1-9]*",
	"/usr/lib/aarch64-linux-gnu/libcupti.so.1[1-9]*",
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Libraries whose folder says where the program's own CUDA lies. */
static const char *const neighbours[] = {"/libcudart.so.", "/libcublas.so.", "/libnvrtc.so."};

struct loaded {
	char cupti[PATH_MAX];
	char folder[PATH_MAX]; /* of a neighbour */
};

/* The candidates found so far. */
struct list {
	unsigned wanted, count;
	char *out;
	bool found;
};

static int look_at_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded *loaded = context;
	const char *name = info->dlpi_name;

	(void)size;
	if (!name || strlen(name) >= PATH_MAX)
		return 0;
	if (!loaded->cupti[0] && strstr(name, "/libcupti.so"))
		strcpy(loaded->cupti, name);
	for (size_t i = 0; i < COUNT(neighbours) && !loaded->folder[0]; i++)
		if (strstr(name, neighbours[i])) {
			strcpy(loaded->folder, name);
			*strrchr(loaded->folder, '/') = '\0';
		}
	return 0;
}

static void add(struct list *list, const char *path)
{
	if (!list->found && path[0] && list->count++ == list->wanted && strlen(path) < PATH_MAX) {
		strcpy(list->out, path);
		list->found = true;
	}
}

/* Adds what a pattern matches, the highest version first. */
static void add_matches(struct list *list, const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = found.gl_pathc; i > 0; i--)
		add(list, found.gl_pathv[i - 1]);
	globfree(&found);
}

static void add_under(struct list *list, const char *const *patterns, size_t count,
		      const char *folder)
{
	char pattern[PATH_MAX];

	if (!folder || !folder[0])
		return;
	for (size_t i = 0; i < count; i++) {
		/* The patterns are the constants above, each with one %s. */
		const char *rest = strstr(patterns[i], "%s") + 2;

		if (snprintf(pattern, sizeof(pattern), "%s%s", folder, rest) < PATH_MAX)
			add_matches(list, pattern);
	}
}

bool kp_cupti_candidate(unsigned number, const char *only, char out[PATH_MAX])
{
	struct list list = {.wanted = number, .out = out};
	struct loaded loaded = {{0}, {0}};

	dl_iterate_phdr(look_at_loaded, &loaded);
	if (loaded.cupti[0] || only[0]) {
		/* Two libcupti in one process cannot both work: the loaded one or none. */
		add(&list, loaded.cupti[0] ? loaded.cupti : only);
		return list.found;
	}
	add_under(&list, beside_patterns, COUNT(beside_patterns), loaded.folder);
	add_under(&list, home_patterns, COUNT(home_patterns), getenv("CUDA_HOME"));
	for (size_t i = 0; i < COUNT(fixed_patterns); i++)
		add_matches(&list, fixed_patterns[i]);
	add(&list, "libcupti.so.13");
	add(&list, "libcupti.so.12");
	add(&list, "libcupti.so.11.8");
	add(&list, "libcupti.so");
	add_under(&list, home_patterns, COUNT(home_patterns), KPROF_CUDA_ROOT);
	return list.found;
}

static void resolve_path(struct kp_cupti *cupti, const char *path)
{
	Dl_info info;

	if (dladdr((void *)cupti->GetVersion, &info) && info.dli_fname &&
	    strlen(info.dli_fname) < sizeof(cupti->path))
		path = info.dli_fname;
	snprintf(cupti->path, sizeof(cupti->path), "%s", path);
}

bool kp_cupti_bind(struct kp_cupti *cupti, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
#define BIND(name, parameters)                                                                     \
	*(void **)&cupti->name = kp_hooks_lookup(library, "cupti" #name);                          \
	if (!cupti->name)                                                                          \
		return false;
	KP_CUPTI_FUNCTIONS(BIND)
#undef BIND
	resolve_path(cupti, path);
	return cupti->GetVersion(&cupti->version) == CUPTI_SUCCESS;
}

const char *kp_cupti_word(const struct kp_cupti *cupti, CUptiResult result)
{
	const char *word = NULL;

	if (cupti->GetResultString)
		cupti->GetResultString(result, &word);
	return word ? word : "unknown CUPTI error";
}
