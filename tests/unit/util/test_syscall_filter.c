/* SPDX-License-Identifier: MIT */
/* test_syscall_filter.c - fs/util/syscall_filter.c: calls that are allowed, and calls that are
 * not. */
#include "fs/util/syscall_filter.h"
#include "tests/unit/child.h"
#include "tests/unit/temp_dir.h"

#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define refused(call) child_must((call) < 0 && errno == EPERM)

static void enter(bool network)
{
	if (!syscall_filter_is_built())
		child_skip();
	child_must(!syscall_filter_ends_network());
	child_must(syscall_filter_enter(network) == 0);
	child_must(syscall_filter_ends_network() == !network);
}

static void ask_for_forbidden_calls(void *context)
{
	char *const none[] = { NULL };

	(void)context;
	enter(false);
	refused(execl("/bin/true", "true", NULL));
	refused(syscall(SYS_execveat, AT_FDCWD, "/bin/true", none, none, 0));
	refused(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	refused(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
	refused(syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0));
	refused(syscall(SYS_pidfd_open, getppid(), 0));
	refused(syscall(SYS_pidfd_getfd, 0, 0, 0));
	refused(mount("none", "/nowhere", "tmpfs", 0, NULL));
	refused(umount2("/nowhere", MNT_DETACH));
	refused(syscall(SYS_fsopen, "tmpfs", 0));
	refused(syscall(SYS_move_mount, -1, "", -1, "", 0));
	refused(syscall(SYS_pivot_root, "/", "/"));
	refused(chroot("/"));
	refused(unshare(CLONE_NEWUSER));
	refused(setns(0, 0));
	refused(socket(AF_UNIX, SOCK_DGRAM, 0));
	refused(socket(AF_INET, SOCK_STREAM, 0));
	refused(socket(AF_NETLINK, SOCK_RAW, 0));
	refused(socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ -1, -1 }));
	refused(kill(getppid(), 0));
	refused(syscall(SYS_tgkill, getppid(), getppid(), 0));
	refused(syscall(SYS_bpf, 0, NULL, 0));
	refused(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0));
	refused(syscall(SYS_io_uring_setup, 1, NULL));
	refused(syscall(SYS_userfaultfd, 0));
	refused(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	refused(syscall(SYS_init_module, NULL, 0, NULL));
	refused(syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0));
	refused(setuid(getuid()));
	/* TIOCSTI would put a byte into the terminal's input. */
	refused(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

static void forbidden_calls_are_refused(void **state)
{
	(void)state;
	in_child(ask_for_forbidden_calls, NULL);
}

static void begin_processes(void *context)
{
	(void)context;
	enter(false);
	refused(fork());
	/* System calls newer than the list fail as on a kernel without them. */
	child_must(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS);
}

static void no_process_can_be_started(void **state)
{
	(void)state;
	in_child(begin_processes, NULL);
}

static void *write_file_in_thread(void *argument)
{
	write_text(argument, "written");
	return argument;
}

static void work_on(void *context)
{
	void **state = context;
	const struct path path = in_temp(state, "file"), moved = in_temp(state, "moved");
	struct file_clone_range range = { .src_fd = -1 };
	pthread_t thread;
	int fd;

	enter(false);
	child_must(pthread_create(&thread, NULL, write_file_in_thread, (void *)path.text) == 0);
	child_must(pthread_join(thread, NULL) == 0);
	child_must(rename(path.text, moved.text) == 0);
	fd = open(moved.text, O_RDWR | O_CLOEXEC);
	child_must(fd >= 0 && fsync(fd) == 0 && ftruncate(fd, 3) == 0);
	/* These errors are the kernel's own. */
	child_must(ioctl(fd, FICLONERANGE, &range) < 0 && errno == EBADF);
	child_must(!isatty(fd) && errno == ENOTTY);
	child_must(raise(0) == 0);
}

static void files_and_threads_still_work(void **state)
{
	in_child(work_on, state);
}

struct meeting {
	pthread_barrier_t entered;
	int found;
};

static void *ask_in_thread(void *argument)
{
	struct meeting *meeting = argument;

	pthread_barrier_wait(&meeting->entered);
	meeting->found = socket(AF_UNIX, SOCK_DGRAM, 0) < 0 ? errno : 0;
	return NULL;
}

static void enter_beside_a_thread(void *context)
{
	struct meeting meeting = { .found = 0 };
	pthread_t thread;

	(void)context;
	pthread_barrier_init(&meeting.entered, NULL, 2);
	child_must(pthread_create(&thread, NULL, ask_in_thread, &meeting) == 0);
	enter(false);
	pthread_barrier_wait(&meeting.entered);
	pthread_join(thread, NULL);
	child_must(meeting.found == EPERM);
}

static void threads_that_run_already_are_bound(void **state)
{
	(void)state;
	in_child(enter_beside_a_thread, NULL);
}

static void ask_for_the_network(void *context)
{
	int fd;

	(void)context;
	enter(true);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	child_must(fd >= 0 && close(fd) == 0);
	refused(listen(0, 1));
	refused(execl("/bin/true", "true", NULL));
	refused(mount("none", "/nowhere", "tmpfs", 0, NULL));
}

static void network_option_permits_sockets(void **state)
{
	(void)state;
	in_child(ask_for_the_network, NULL);
}

UNIT_MAIN(temp_setup, temp_teardown)
