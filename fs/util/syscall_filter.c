/* SPDX-License-Identifier: MIT */
/* syscall_filter.c - see syscall_filter.h. The lists hold names of calls: libseccomp knows their
 * numbers, which differ by architecture, and skips names that an architecture lacks. The lists also
 * contain calls that today's C library does not use, because a later one may open a file by another
 * call. Security depends on the calls that are absent.
 *
 * There are two filters. The first allows the lists and logs everything else. The second fails
 * silently with ENOSYS for the new calls that the C library tries before it falls back to a listed
 * one. If both deny a call, the kernel returns the error of the filter that was loaded last. */
#include "fs/util/syscall_filter.h"

#include <errno.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WITH_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WITH_SANITIZER true
#endif
#endif
#ifndef WITH_SANITIZER
#define WITH_SANITIZER false
#endif

/* number of calls after libseccomp's last known one that the C library may try */
#define NEWER 64
/* architectures with higher numbers add an offset to them */
#define HIGHEST 1024

/* Flags of clone(2) that the filter checks: CLONE_THREAD has to be set, and no new namespace. The C
 * library starts threads by clone(2) if clone3(2) fails, whose flags a filter cannot see. */
#define CLONE_LOOKED_AT                                                               \
	((scmp_datum_t)(CLONE_THREAD | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | \
			CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET))

/* longest name in the lists, which separate names by blanks */
#define NAME_LENGTH 39
#define FIRST_NAME  "%39s%n"

/* argument of clone(2) that has the flags */
#if defined(__s390__)
#define CLONE_FLAGS 1
#else
#define CLONE_FLAGS 0
#endif

static const char on_files[] =
	"access arm_fadvise64_64 arm_sync_file_range cachestat chdir chmod chown chown32 "
	"close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 "
	"fadvise64 fadvise64_64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchown32 "
	"fchownat fcntl fcntl64 fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr "
	"fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futimesat "
	"getcwd getdents getdents64 getxattr getxattrat lchown lchown32 lgetxattr link "
	"linkat listxattr listxattrat llistxattr _llseek lremovexattr lseek lsetxattr lstat "
	"lstat64 memfd_create mkdir mkdirat mknod mknodat newfstatat oldfstat oldlstat "
	"oldstat open openat openat2 pipe pipe2 pread64 preadv preadv2 pwrite64 pwritev "
	"pwritev2 read readahead readlink readlinkat readv removexattr removexattrat rename "
	"renameat renameat2 rmdir sendfile sendfile64 setxattr setxattrat splice stat stat64 "
	"statfs statfs64 statx symlink symlinkat sync sync_file_range sync_file_range2 "
	"syncfs tee truncate truncate64 umask unlink unlinkat utime utimensat "
	"utimensat_time64 utimes vmsplice write writev";

static const char on_waiting[] =
	"epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 "
	"epoll_wait epoll_wait_old eventfd eventfd2 _newselect poll ppoll ppoll_time64 "
	"pselect6 pselect6_time64 select";

static const char on_memory[] =
	"brk madvise map_shadow_stack membarrier mincore mlock mlock2 mlockall mmap mmap2 "
	"mprotect mremap mseal msync munlock munlockall munmap remap_file_pages";

/* clone(), kill() and tgkill() are allowed under conditions, below. */
static const char on_threads[] =
	"arch_prctl cacheflush exit exit_group futex futex_requeue futex_time64 futex_wait "
	"futex_waitv futex_wake get_robust_list get_thread_area get_tls getcpu getpgid "
	"getpgrp getpid getppid getsid gettid pause prctl restart_syscall riscv_flush_icache "
	"riscv_hwprobe rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn "
	"rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 sched_get_priority_max "
	"sched_get_priority_min sched_getaffinity sched_getattr sched_getparam "
	"sched_getscheduler sched_yield seccomp set_robust_list set_thread_area "
	"set_tid_address set_tls sigaction sigaltstack signal sigpending sigprocmask "
	"sigreturn sigsuspend uprobe uretprobe wait4 waitid waitpid";

static const char on_rights[] =
	"capget capset getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups "
	"getgroups32 getresgid getresgid32 getresuid getresuid32 getuid getuid32 setfsgid "
	"setfsgid32 setfsuid setfsuid32 setgroups setgroups32";

static const char on_time[] =
	"clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep "
	"clock_nanosleep_time64 getitimer getpriority getrandom getrlimit getrusage "
	"gettimeofday nanosleep sysinfo time times ugetrlimit uname";

/* Calls on sockets that are open already: syslog(3)'s, and the one to the process that unmounts. */
static const char on_open_sockets[] = "recv recvfrom recvmsg send sendmsg sendto shutdown";

static const char on_network[] =
	"bind connect getpeername getsockname getsockopt recvmmsg recvmmsg_time64 sendmmsg "
	"setsockopt socket socketpair";

static int allow(scmp_filter_ctx filter, const char *names)
{
	char name[NAME_LENGTH + 1];
	int rc = 0, read;

	for (; rc == 0 && sscanf(names, FIRST_NAME, name, &read) == 1; names += read) {
		const int number = seccomp_syscall_resolve_name(name);

		/* An older libseccomp may not know the name. */
		if (number != __NR_SCMP_ERROR)
			rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	}
	return rc;
}

/* Newer C libraries test for a terminal with TCGETS2. Direction and size are added to this value;
 * the header that defines it conflicts with the C library's. */
#define TCGETS2_LOW 0x542a

/* Allow requests about shared blocks (reflinks), terminals and pipes, and every request of the type
 * 229 (<linux/fuse.h>), which a FUSE connection takes. */
static int allow_ioctl(scmp_filter_ctx filter)
{
	static const unsigned long requests[] = { FICLONE,    FICLONERANGE, TCGETS,
						  TIOCGWINSZ, FIONREAD,	    FIONBIO };
	const struct scmp_arg_cmp fuse = SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, 229 << 8);
	const struct scmp_arg_cmp terminal = SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffff, TCGETS2_LOW);
	int rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, fuse);

	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, terminal);
	for (size_t i = 0; rc == 0 && i < sizeof(requests) / sizeof(requests[0]); i++) {
		/* The kernel uses only the lower 32 bits. */
		const struct scmp_arg_cmp is =
			SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)requests[i]);

		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, is);
	}
	return rc;
}

static int allow_with_conditions(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp is_thread =
		SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_LOOKED_AT, CLONE_THREAD);
	const struct scmp_arg_cmp is_own = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0);
	const struct scmp_arg_cmp is_self = SCMP_A0(SCMP_CMP_EQ, 0, 0);
	int rc = allow_ioctl(filter);

	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, is_thread);
	/* See the second filter in the comment at the top. */
	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone3), 0);
	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(kill), 1, is_own);
	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, is_own);
	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, is_self);
	return rc;
}

static int allow_all(scmp_filter_ctx filter, bool network)
{
	const char *const lists[] = { on_files,	 on_waiting, on_memory,	      on_threads,
				      on_rights, on_time,    on_open_sockets, on_network };
	const size_t n = sizeof(lists) / sizeof(lists[0]) - (network ? 0 : 1);
	int rc = allow_with_conditions(filter);

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = allow(filter, lists[i]);
	return rc;
}

/* Highest number of a call that libseccomp knows. */
static int last_known(void)
{
	int last = 0;

	for (int number = 0; number < HIGHEST; number++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

		if (name)
			last = number;
		free(name);
	}
	return last;
}

static int refuse_new(scmp_filter_ctx filter)
{
	const int last = last_known();
	int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	for (int number = last + 1; rc == 0 && number <= last + NEWER; number++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
	return rc;
}

/* Load the filter into all threads, and release it. */
static int load(scmp_filter_ctx filter, bool log, int rc)
{
	/* Not essential: older versions of libseccomp or the kernel lack these attributes. */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, log);
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
}

int syscall_filter_enter(bool network)
{
	scmp_filter_ctx filter;
	int rc;

	if (WITH_SANITIZER)
		return 0;
	filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return -ENOMEM;
	rc = load(filter, true, allow_all(filter, network));
	if (rc < 0)
		return rc;
	filter = seccomp_init(SCMP_ACT_ALLOW);
	return filter ? load(filter, false, refuse_new(filter)) : -ENOMEM;
}

/* No call lists the filters, so try one. Without IPv4 the error is not EPERM. */
bool syscall_filter_ends_network(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno == EPERM;
	close(fd);
	return false;
}

bool syscall_filter_is_built(void)
{
	return !WITH_SANITIZER;
}
