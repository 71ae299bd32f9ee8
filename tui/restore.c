/* Giving the terminal back; see restore.h. */
#include "tui/restore.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static const int signals[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGABRT, SIGSYS, SIGTERM,
			      SIGHUP,  SIGQUIT, SIGINT, SIGPIPE, SIGXCPU, SIGALRM};
#define SIGNAL_COUNT (sizeof signals / sizeof *signals)

/* The terminal that is to be given back: handlers can look nowhere else. */
static struct {
	int fd;
	struct termios modes;
	struct termios own_modes; /* the explorer's */
	char bytes[512], again[512];
	size_t length, again_length;
	struct sigaction before[SIGNAL_COUNT], before_stop;
	volatile sig_atomic_t armed;
} saved;

static void write_out(const char *bytes, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t written = write(saved.fd, bytes + done, length - done);
		if (written <= 0)
			break;
		done += (size_t)written;
	}
}

static void give_back(int number)
{
	if (saved.armed) {
		saved.armed = 0;
		write_out(saved.bytes, saved.length);
		tcsetattr(saved.fd, TCSANOW, &saved.modes);
	}
	/* It ends the program now as it would have: SA_RESETHAND has put the default back. */
	raise(number);
}

static void stop_and_return(int number)
{
	int error = errno;

	(void)number;
	write_out(saved.bytes, saved.length);
	tcsetattr(saved.fd, TCSANOW, &saved.modes);
	raise(SIGSTOP);
	tcsetattr(saved.fd, TCSANOW, &saved.own_modes);
	write_out(saved.again, saved.again_length);
	raise(SIGWINCH);
	errno = error;
}

bool kp_restore_remember(int fd)
{
	saved.fd = fd;
	saved.length = saved.again_length = 0;
	return tcgetattr(fd, &saved.modes) == 0;
}

static void add(char bytes[512], size_t *length, const char *sequence)
{
	size_t more = sequence ? strlen(sequence) : 0;

	if (more > sizeof saved.bytes - *length)
		return;
	memcpy(bytes + *length, sequence ? sequence : "", more);
	*length += more;
}

void kp_restore_add(const char *sequence)
{
	add(saved.bytes, &saved.length, sequence);
}

void kp_restore_add_return(const char *sequence)
{
	add(saved.again, &saved.again_length, sequence);
}

void kp_restore_arm(void)
{
	struct sigaction action = {.sa_handler = give_back, .sa_flags = (int)SA_RESETHAND};

	struct sigaction stop = {.sa_handler = stop_and_return, .sa_flags = SA_RESTART};

	sigemptyset(&action.sa_mask);
	sigemptyset(&stop.sa_mask);
	tcgetattr(saved.fd, &saved.own_modes);
	saved.armed = 1;
	sigaction(SIGTSTP, &stop, &saved.before_stop);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaction(signals[i], &action, &saved.before[i]);
}

void kp_restore_disarm(void)
{
	if (!saved.armed)
		return;
	saved.armed = 0;
	sigaction(SIGTSTP, &saved.before_stop, NULL);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaction(signals[i], &saved.before[i], NULL);
}
