/* The ledger of the fake GPU; see ledger.h. Threading: the file is mapped once, then atomics. */
#include "tests/fake_gpu/common/ledger.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEDGER_BYTES (KP_FAKE_COUNTER_COUNT * sizeof(uint64_t))

static _Atomic uint64_t private_counters[KP_FAKE_COUNTER_COUNT];
static _Atomic uint64_t *counters = private_counters;
static pthread_once_t ledger_once = PTHREAD_ONCE_INIT;

static void open_ledger(void)
{
	const char *path = getenv("KP_FAKE_LEDGER");
	void *map;
	int fd;

	if (!path || !*path)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || (lseek(fd, 0, SEEK_END) < (off_t)LEDGER_BYTES &&
		       ftruncate(fd, (off_t)LEDGER_BYTES) != 0)) {
		fprintf(stderr, "fake GPU: cannot use the ledger %s\n", path);
		abort();
	}
	map = mmap(NULL, LEDGER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED) {
		fprintf(stderr, "fake GPU: cannot map the ledger %s\n", path);
		abort();
	}
	counters = map;
}

/* At once: later the program may have left the place, or may not write any more. */
__attribute__((constructor)) static void open_early(void)
{
	if (getenv("KP_FAKE_LEDGER"))
		pthread_once(&ledger_once, open_ledger);
}

void kp_fake_count(enum kp_fake_counter counter, uint64_t amount)
{
	pthread_once(&ledger_once, open_ledger);
	atomic_fetch_add_explicit(&counters[counter], amount, memory_order_relaxed);
}

uint64_t kp_fake_counted(enum kp_fake_counter counter)
{
	pthread_once(&ledger_once, open_ledger);
	return atomic_load_explicit(&counters[counter], memory_order_relaxed);
}
