/* The control socket; see ctl.h. */
#include "inject/ctl.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/output.h"

/* How long a client may take to send what it came for: it sends as soon as it is connected. */
#define CLIENT_PATIENCE_MS 50
/* Requests in one call, so that nobody can keep the worker from its work. */
#define CLIENTS_AT_ONCE 4

static struct {
	int fd; /* -1: none */
	dev_t device;
	ino_t inode;
} ctl = {.fd = -1};

static bool is_ours(int fd)
{
	struct stat about;

	return fd >= 0 && fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode) &&
	       about.st_dev == ctl.device && about.st_ino == ctl.inode;
}

/* In a forked child: the socket is the parent's. */
static void let_go(void)
{
	if (is_ours(ctl.fd))
		close(ctl.fd);
	ctl.fd = -1;
}

static void prepare(void)
{
	pthread_atfork(NULL, NULL, let_go);
}

/* This process's address; false where /proc does not tell. */
static bool own_address(struct sockaddr_un *address, socklen_t *length)
{
	char text[1024];
	uint64_t start_ticks;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	if (!kp_control_start_ticks(text, &start_ticks))
		return false;
	kp_control_address((uint64_t)getpid(), start_ticks, address, length);
	return true;
}

/* A listening socket out of the range of numbers that programs use; -1 where there is none. */
static int listen_high(void)
{
	struct sockaddr_un address;
	socklen_t length;
	int fd;

	if (!own_address(&address, &length))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)&address, length) != 0 ||
	    listen(fd, CLIENTS_AT_ONCE) != 0) {
		close(fd);
		return -1;
	}
	return kp_output_move_high(fd);
}

static void open_socket(void)
{
	struct stat about;

	ctl.fd = listen_high();
	if (ctl.fd >= 0 && fstat(ctl.fd, &about) == 0) {
		ctl.device = about.st_dev;
		ctl.inode = about.st_ino;
	}
}

void kp_ctl_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, prepare);
	open_socket();
}

void kp_ctl_end(void)
{
	let_go();
}

static bool is_allowed(int client)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

/* The descriptor that came with a message, or -1; there is room for one, the system closes more. */
static int descriptor_of(struct msghdr *message)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
	    part->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(part), sizeof(fd));
	return fd;
}

/* Reads the request; false where none comes. */
static bool read_request(int client, struct kp_control_request *request, int *fd)
{
	struct pollfd wait = {.fd = client, .events = POLLIN};
	struct iovec bytes = {request, sizeof(*request)};
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.room = {0}};
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t got;

	if (poll(&wait, 1, CLIENT_PATIENCE_MS) <= 0)
		return false;
	got = recvmsg(client, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	*fd = got >= 0 ? descriptor_of(&message) : -1;
	return got == (ssize_t)sizeof(*request);
}

static void serve(int client, struct kp_control_answer *answer, kp_ctl_handler handle)
{
	struct kp_control_request request = {0};
	bool came;
	int fd = -1;

	memset(answer, 0, sizeof(*answer));
	answer->magic = KP_CONTROL_MAGIC;
	if (!is_allowed(client)) {
		answer->result = KP_CONTROL_FORBIDDEN;
		send(client, answer, sizeof(*answer), MSG_DONTWAIT | MSG_NOSIGNAL);
		return;
	}
	came = read_request(client, &request, &fd);
	request.rule[sizeof(request.rule) - 1] = '\0';
	if (request.magic != KP_CONTROL_MAGIC || request.verb >= KP_CONTROL_VERBS)
		answer->result = KP_CONTROL_UNKNOWN;
	else if (came)
		handle(&request, fd, answer);
	if (fd >= 0)
		close(fd);
	if (came)
		send(client, answer, sizeof(*answer), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void kp_ctl_serve(kp_ctl_handler handle)
{
	static struct kp_control_answer answer; /* 4 KiB that no stack needs to hold */

	if (!is_ours(ctl.fd)) /* closed by the program, whose number that is now */
		open_socket();
	for (int i = 0; i < CLIENTS_AT_ONCE && ctl.fd >= 0; i++) {
		int client = accept4(ctl.fd, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0)
			return;
		serve(client, &answer, handle);
		close(client);
	}
}
