# SPDX-License-Identifier: MIT
# lib.sh - functions for the mount tests, which source it. tests/mount/run sets the directories:
# $MNT to mount on, $TMP to work in, $LOGS for the daemons' output.
set -eu

here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
MODELS=$here/../models
MALFORMED=$here/../malformed
GGUF=$here/../tools/gguf
LORA=$here/../tools/lora.py
UMOUNT=${ORGANFS%/*}/organfs-umount # both have one build folder
FAULTY=${ORGANFS%/*}/tests/tools/organfs-faults
declare -A DAEMON=() # process number by mount point

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

skip() {
	echo "$*"
	exit 77
}

# Fail because a deadline of the test has passed. tests/mount/run repeats a late test alone, and
# never a failed one, so a daemon that a signal ended is a failure here too.
late() {
	local mnt status
	for mnt in "${!DAEMON[@]}"; do
		is_gone "${DAEMON[$mnt]}" || continue
		status=0
		wait "${DAEMON[$mnt]}" 2>/dev/null || status=$?
		case $status in
		129 | 13[0-68-9] | 14[0-2])
			fail "signal $((status - 128)) ended the daemon of $mnt"
			;;
		esac
	done
	echo "LATE: $*" >&2
	exit 75
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip "no $tool"
	done
}

# until_true SECONDS COMMAND...: wait for an event in another process, or return 1 at the deadline.
# Between two checks the shell reads a pipe that stays empty, because sleep(1) costs a fork.
# (Opening changes $!, so the pipe is opened here.)
exec {EMPTY_PIPE}<> <(:)
until_true() {
	local up end
	read -r up _ </proc/uptime
	end=$((${up/./} + $1 * 100))
	shift
	until "$@"; do
		read -r up _ </proc/uptime
		[ "${up/./}" -lt $end ] || return 1
		read -rt 0.02 -u "$EMPTY_PIPE" _ || true
	done
}

# in_time SECONDS COMMAND...: run a command; if it does not end in time, the test is late.
in_time() {
	local status=0
	timeout -k 5 "$@" || status=$?
	[ $status != 124 ] && [ $status != 137 ] || late "$1 s are over: ${*:2}"
	return $status
}

# Milliseconds since boot, because a test may set the clock.
milliseconds() {
	local up
	read -r up _ </proc/uptime
	echo "${up/./}0"
}

# mount_model [-o OPTIONS] MODEL [MOUNTPOINT]: mount in the foreground, so that the daemon's exit
# status and output are known.
mount_model() {
	local options=()
	if [ "$1" = -o ]; then
		options=(-o "$2")
		shift 2
	fi
	local model=$1 mnt=${2:-$MNT}
	"$ORGANFS" -f "${options[@]}" "$model" "$mnt" >>"$LOGS/${mnt##*/}" 2>&1 </dev/null &
	DAEMON[$mnt]=$!
	until_true 60 is_up "$mnt" || late "$mnt is not mounted after 60 s"
	mountpoint -q "$mnt" || fail "not mounted: $(tail -n 3 "$LOGS/${mnt##*/}")"
}

# mount_held CALL [-o OPTIONS] MODEL [MOUNTPOINT]: mount_model with the daemon of tools/faults.c.
# Each such CALL that begins after hold waits until release, or until the next hold, which releases
# the waiting calls and holds later ones.
mount_held() {
	local call=$1
	[ -x "$FAULTY" ] || skip "$FAULTY is not built"
	shift
	rm -f "$TMP/held" "$TMP/arrived"
	ORGANFS=$FAULTY ORGANFS_FAULT=$call:1:hold+:$TMP/held ORGANFS_FAULT_LOG=$TMP/arrived \
		mount_model "$@"
}

hold() {
	: >"$TMP/held.new"
	mv "$TMP/held.new" "$TMP/held"
}

release() {
	rm -f "$TMP/held"
}

# have_arrived N: that many calls have been held since mount_held.
have_arrived() {
	[ -e "$TMP/arrived" ] && [ "$(wc -l <"$TMP/arrived")" -ge "$1" ]
}

# with_clock: give $ORGANFS the clocks of tools/clock.c from here on; later SECONDS advances the
# steady ones.
with_clock() {
	[ -x "$FAULTY" ] || skip "$FAULTY is not built"
	ORGANFS=$FAULTY
	export CLOCK=$TMP/clock
	later 0
}

later() {
	LATER=$((${LATER-0} + $1))
	echo "0 $LATER" >"$CLOCK"
}

# mountpoint(1) without a fork, if mountinfo has the path as it is.
is_mounted_at() {
	local mounts
	[[ $1 != *[!A-Za-z0-9/._-]* ]] || {
		mountpoint -q "$1"
		return
	}
	mapfile -t mounts </proc/self/mountinfo
	[[ "${mounts[*]}" = *" $1 "* ]]
}

is_up() {
	is_mounted_at "$1" || is_gone "${DAEMON[$1]}"
}

# mount_model as a user does it: the command returns when the mount is ready.
mount_daemon() {
	local mnt=${*: -1}
	"$ORGANFS" "$@" >"$LOGS/start" 2>&1 </dev/null || fail "organfs $*: $(cat "$LOGS/start")"
	[ ! -s "$LOGS/start" ] || fail "organfs says: $(cat "$LOGS/start")"
	mountpoint -q "$mnt" || fail "organfs returned before $mnt was mounted"
	DAEMON[$mnt]=$(daemon_of "$mnt") || fail "no daemon for $mnt"
}

# daemon_of MOUNTPOINT [COMMAND...]: process number of a mount's daemon, from the mount itself; the
# command asks as another user.
daemon_of() {
	local said
	said=$("${@:2}" getfattr --absolute-names --only-values -n user.organfs.daemon "$1") ||
		return 1
	echo "${said%% *}"
}

# Process numbers of the children of all threads of process $1.
children_of() {
	cat "/proc/$1/task/"*/children | xargs
}

# A zombie counts as gone.
is_gone() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	stat=${stat##*) }
	[[ ${stat:0:1} = [ZX] ]]
}

# stop PID: send SIGSTOP, and wait until all threads have stopped, which still answer before that.
stop() {
	kill -STOP "$1"
	until_true 60 is_stopped "$1" || late "$1 does not stop"
}

is_stopped() {
	! is_gone "$1" && ! cat "/proc/$1/task/"*/status | grep '^State:' | grep -qv stopped
}

# wait_inside PID...: each of these processes waits, in a system call, for a mount's answer, or for
# a process that does and holds a kernel lock: of the inode, the page, or the looked-up name.
wait_inside() {
	local pid where
	for pid; do
		{ read -r where || true; } 2>/dev/null <"/proc/$pid/wchan" || return 1
		case $where in
		fuse_dev_*) return 1 ;; # a daemon that waits for requests
		request_wait_answer | fuse_* | d_alloc_parallel) ;;
		folio_wait_bit* | wait_on_page_bit*) ;;
		*) return 1 ;;
		esac
	done
}

# A thread of that process waits so.
has_thread_inside() {
	local task
	for task in "/proc/$1/task/"*; do
		! wait_inside "${task##*/}" || return 0
	done
	return 1
}

# Unmount, and return at once; the daemon may work longer. It is found by the mount if neither
# mount_model nor mount_daemon made that.
unmount() {
	local mnt=${1:-$MNT}
	[ -n "${DAEMON[$mnt]-}" ] || DAEMON[$mnt]=$(daemon_of "$mnt") || fail "no daemon for $mnt"
	cat "$mnt/.log" >"$LOGS/${mnt##*/}.log" || fail "$mnt/.log cannot be read"
	# Another test's process that lists all mounts may be in it for a moment.
	until_true 20 fusermount3 -q -u "$mnt" ||
		fail "$mnt cannot be unmounted: $(fuser -vm "$mnt" 2>&1)"
}

# Wait for the daemon, which has to succeed. Only a child's exit status is known.
wait_daemon() {
	local mnt=${1:-$MNT} status=0
	local pid=${DAEMON[$mnt]}
	# Another mount namespace may have the mount too; there it ends with its directory.
	until_true 10 is_gone "$pid" || { rmdir "$mnt" && mkdir "$mnt"; } 2>/dev/null || true
	until_true 50 is_gone "$pid" || fail "the daemon of $mnt is still there after 60 s"
	wait "$pid" 2>/dev/null || status=$?
	unset "DAEMON[$mnt]"
	# Exit status 2: .check calls the written model impossible, as the output says.
	[[ $status = 0 || $status = 127 ]] ||
		[[ $status = 2 && $(<"$LOGS/${mnt##*/}") = *impossible* ]] ||
		fail "the daemon of $mnt ended with status $status: $(tail -n 3 "$LOGS/${mnt##*/}")"
}

unmount_and_wait() {
	unmount "$@"
	wait_daemon "$@"
}

# Kill the daemon with SIGKILL, as a power cut would.
kill_daemon() {
	local mnt=${1:-$MNT}
	kill -9 "${DAEMON[$mnt]}"
	wait "${DAEMON[$mnt]}" 2>/dev/null || true
	# A daemon that is no child of the test holds its layer until the kernel has closed its
	# files.
	until_true 20 is_gone "${DAEMON[$mnt]}"
	unset "DAEMON[$mnt]"
	fusermount3 -uz "$mnt"
}

# use NAME: a copy of a shipped model, which the test may change, and beside which it may write.
use() {
	cp "$MODELS/$1.gguf" "$TMP/$1.gguf"
	touch -d '2024-05-05 05:05:05' "$TMP/$1.gguf"
	echo "$TMP/$1.gguf"
}

same() {
	cmp "$1" "$2" || fail "$1 and $2 differ"
}

differ() {
	! cmp -s "$1" "$2" || fail "$1 and $2 are the same"
}

exists() {
	[ -e "$1" ] || fail "$1 does not exist"
}

absent() {
	[ ! -e "$1" ] && [ ! -L "$1" ] || fail "$1 exists"
}

equal() {
	[ "$1" = "$2" ] || fail "\"$1\" is not \"$2\"${3:+: $3}"
}

checksum() {
	sha256sum <"$1"
}

# expect_fail PATTERN COMMAND...: the command fails, and its output matches.
expect_fail() {
	local pattern=$1
	shift
	if "$@" >"$TMP/.said" 2>&1; then
		fail "succeeded: $*"
	fi
	grep -Eqi -- "$pattern" "$TMP/.said" || fail "$* says: $(cat "$TMP/.said")"
	rm -f "$TMP/.said"
}

# expect_refusal MODEL [OPTIONS]: exit 1, one line with the file's name, and no mount.
expect_refusal() {
	local status=0
	"$ORGANFS" ${2:+-o "$2"} "$1" "$MNT" >"$TMP/.said" 2>&1 </dev/null || status=$?
	equal $status 1 "exit status for $1: $(cat "$TMP/.said")"
	equal "$(wc -l <"$TMP/.said")" 1 "lines of $(cat "$TMP/.said")"
	case $(cat "$TMP/.said") in
	"organfs: $1: "?*) ;;
	*) fail "says: $(cat "$TMP/.said")" ;;
	esac
	! mountpoint -q "$MNT" || fail "$1 is refused and mounted"
}

# The text of .assemble about the last assembly matches $1.
assembly_says() {
	grep -Eqi -- "$1" "$MNT/.assemble" || fail ".assemble says: $(cat "$MNT/.assemble")"
}

# The last refusal in .log matches $1.
log_says() {
	log_has "$1" || fail ".log says: $(tail -n 5 "$MNT/.log")"
}

log_has() {
	tail -n 5 "$MNT/.log" | grep -Eq -- "$1"
}

# log_says, for a refusal after the writer's close(): the kernel sends the last close later, and
# the end of a map later still.
log_comes_to_say() {
	until_true 20 log_has "$1" || log_says "$1"
}

# Only directories may be left of a private layer, and of the test's own files.
no_litter() {
	local found
	found=$(find "$1" ! -type d ! -name "${2:-.}")
	[ -z "$found" ] || fail "left behind: $found"
}

# layer_sql DIR STATEMENT...: query the layer in DIR, as on the disk now. A mount locks its
# database, so the query goes to a copy of the database and its log.
layer_sql() {
	local copy dir=$1
	shift
	copy=$(mktemp -d "$TMP/layer-XXXXXX")
	cp "$dir/layer.db" "$copy/"
	[ ! -e "$dir/layer.db-wal" ] || cp "$dir/layer.db-wal" "$copy/"
	sqlite3 "$copy/layer.db" "$@"
	rm -r "$copy"
}

# layer_change DIR STATEMENT...: change the layer in DIR, which no mount uses.
layer_change() {
	# The kernel may still be closing a killed daemon's files.
	sqlite3 -cmd '.timeout 20000' "$1/layer.db" "${@:2}"
}

# layer_file DIR CLASS/NAME: file of blobs/ with the slot's organ, or nothing if a row has it.
layer_file() {
	local number
	number=$(layer_sql "$1" "SELECT number FROM slot JOIN blob ON blob = number WHERE class ||
		'/' || name = '$2' AND bytes IS NULL")
	[ -z "$number" ] || echo "$1/blobs/$number"
}

# empty_layer DIR: the layer in DIR, mounted or not, records nothing about the model, and has
# neither bytes of organs nor other files. no_litter is for layers that must be gone.
empty_layer() {
	local left
	left=$(layer_sql "$1" 'SELECT class, name FROM slot; SELECT number FROM blob;
		SELECT name FROM key; SELECT file FROM adapter; SELECT text FROM merge')
	[ -z "$left" ] || fail "left in $1/layer.db: $left"
	left=$(find "$1" ! -type d ! -name layer.db ! -name layer.db-wal ! -name reserve)
	[ -z "$left" ] || fail "left behind: $left"
}

# Number of open descriptors; the mount table is open from the first write on.
descriptors() {
	find "/proc/${DAEMON[${1:-$MNT}]}/fd" -mindepth 1 ! -lname '/proc/*/mountinfo' | wc -l
}

# no_leak COUNT: the daemon has COUNT descriptors, once the kernel has sent the last close.
no_leak() {
	until_true 60 eval "[ \"\$(descriptors)\" -le $1 ]" ||
		fail "$1 descriptors before, now: $(ls -l "/proc/${DAEMON[$MNT]}/fd")"
}

# Bytes that $MNT's daemon has read, including requests.
bytes_read() {
	local bytes
	read -r _ bytes <"/proc/${DAEMON[$MNT]}/io"
	echo "$bytes"
}

has_read() {
	[ "$(bytes_read)" -gt "$1" ]
}

# The daemon works through a tensor: from now on it reads 16 MiB, more than any request or single
# read takes.
comes_to_work() {
	until_true 60 has_read $(($(bytes_read) + (16 << 20)))
}

# The daemon sleeps; a thread that waits for a processor does not sleep.
is_idle() {
	local before pid=${DAEMON[$MNT]}
	before=$(bytes_read)
	sleeps "$pid" && sleeps "$pid" && ! has_read "$before"
}

# Run a command as from a terminal: a shell makes background processes ignore Ctrl-C.
at_terminal() {
	exec python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

# Run the test again in its own mount namespace, in which mount(8) and umount(8) find our helpers
# even if others are installed, and whose utab ends with the test; $HELPER is the helper of
# umount(8) under its second name.
with_umount_helper() {
	local sbin name
	need_root
	if [ -z "${ORGANFS_TEST_NAMESPACE-}" ]; then
		unshare -m true 2>/dev/null || skip 'no namespaces of mounts here'
		ORGANFS_TEST_NAMESPACE=1 exec unshare -m "$0"
	fi
	# Other tests' mounts would last as long as this namespace has them too.
	awk '/ - fuse\.organfs / { print $5 }' /proc/self/mountinfo | while read -r mount; do
		umount -i -l "$(printf %b "${mount//\\/\\0}")" || true
	done
	sbin=$(readlink -f /sbin)
	mkdir "$TMP/sbin"
	for name in umount.fuse.organfs organfs-umount mount.organfs; do
		cp "$UMOUNT" "$TMP/sbin/$name"
	done
	mount -t overlay -o "lowerdir=$TMP/sbin:$sbin" overlay "$sbin" 2>/dev/null ||
		skip 'no overlay over /sbin'
	mkdir -p /run/mount
	mount -t tmpfs tmpfs /run/mount
	HELPER=$TMP/sbin/organfs-umount
}

# with_umount_helper, and the helper of mount(8) finds $ORGANFS.
with_mount_helper() {
	local bin=/usr/local/bin
	with_umount_helper
	[ ! -e /usr/bin/organfs ] || bin=/usr/bin # it comes first
	mkdir "$TMP/bin"
	cp "$ORGANFS" "$TMP/bin/organfs"
	cp "$HELPER" "$TMP/bin/organfs-umount"
	chmod 755 "$ORGANFS_TEST_DIR" "$TMP"
	mount -t overlay -o "lowerdir=$TMP/bin:$bin" overlay "$bin" || fail "no overlay over $bin"
	PATH=$PATH:$bin # in some releases sudo does not look there
}

# For tests with_mount_helper: set up an ordinary user, number $ORDINARY, home $TMP/home, who may
# open /dev/fuse. as_user COMMAND... runs a command as that user. Root gets a home there too, for
# programs started by mount(8), because root's true home may hold grafts of the same model.
with_ordinary_user() {
	ORDINARY=65534
	need setpriv
	[ -u "$(command -v mount)" ] && [ -u "$(command -v fusermount3)" ] ||
		skip 'mount and fusermount3 are not setuid'
	mkdir "$TMP/home" "$TMP/root"
	chown $ORDINARY:$ORDINARY "$TMP/home"
	export HOME=$TMP/root
	awk -F : -v OFS=: -v home="$TMP/home" -v user=$ORDINARY -v root="$TMP/root" '
		$3 == 0 { $6 = root }
		$3 == user { $6 = home; seen = 1 }
		{ print }
		END { if (!seen) print "ordinary", "x", user, user, "", home, "/bin/sh" }' \
		/etc/passwd >"$TMP/passwd"
	mount --bind "$TMP/passwd" /etc/passwd
	mknod -m 666 "$TMP/fuse" c 10 229 && mount --bind "$TMP/fuse" /dev/fuse ||
		skip 'no device of ours'
	as_user test -r /dev/fuse || skip '/dev/fuse cannot be opened'
	as_user test -w "$TMP/home" || skip "$TMP is closed to other users"
}

as_user() {
	HOME=$TMP/home setpriv --reuid "$ORDINARY" --regid "$ORDINARY" --clear-groups "$@"
}

# is_waiting PID: that process, or one below it, is a helper of umount(8) that waits for a daemon
# and handles signals. (A background job of a shell ignores SIGINT.)
is_waiting() {
	local child
	! grep -qs '^SigBlk:[[:space:]]*0*400[13]$' "/proc/$1/status" || return 0
	for child in $(children_of "$1"); do
		! is_waiting "$child" || return 0
	done
	return 1
}

# umount_says STATUS PATTERN COMMAND...: check the command's exit status and output; '' for no
# output.
umount_says() {
	local expected=$1 pattern=$2 status=0
	shift 2
	"$@" >"$TMP/.said" 2>&1 || status=$?
	equal $status "$expected" "exit status of $*, which says: $(cat "$TMP/.said")"
	if [ -z "$pattern" ]; then
		equal "$(cat "$TMP/.said")" '' "$*"
	else
		grep -Eq -- "$pattern" "$TMP/.said" || fail "$* says: $(cat "$TMP/.said")"
	fi
}

# (LeakSanitizer does not work in a traced process.)
is_traced() {
	! grep -q '^TracerPid:[[:space:]]*0$' "/proc/$1/task/"*/status
}

# End a strace.
full_speed() {
	kill "$TRACER" 2>/dev/null || true
	wait "$TRACER" 2>/dev/null || true
}

# ahead_of MOUNT: the file by which root sets a mounted filesystem's read-ahead. A container has a
# read-only sysfs, where neither the daemon nor a test can write the file.
ahead_of() {
	echo "/sys/class/bdi/$(mountpoint -d "$1")/read_ahead_kb"
}

need_ahead() {
	(: >>"$(ahead_of "$1")") 2>/dev/null || skip 'read_ahead_kb cannot be set here'
}

# Skip the test unless daemons can be traced; a tracer that does not attach in time is late. Yama
# lets users other than root trace only the tracer's descendants.
need_strace() {
	local scope=0 yama=/proc/sys/kernel/yama/ptrace_scope
	strace -qq -o /dev/null true 2>/dev/null || skip 'no strace here'
	[ ! -e $yama ] || read -r scope <$yama
	[ "$scope" = 0 ] || [ "$(id -u)" = 0 ] || skip "ptrace_scope is $scope"
}

# trace MOUNTPOINT [CALLS [INJECTED]], then done_tracing: $TMP/calls has a line for each call of
# the daemon, except calls that depend on how its threads meet, and n is their number. (Each thread
# waits in a read(), and gets its identity at its start.)
ANY_CALL='!futex,mmap,mprotect,munmap,mremap,madvise,brk,clone,clone3,exit,rt_sigprocmask'
ANY_CALL=$ANY_CALL,rt_sigtimedwait,set_robust_list,rseq,sched_yield,restart_syscall
ANY_CALL=$ANY_CALL,clock_nanosleep,gettid,getpid,getegid,geteuid,read
trace() {
	TRACED=${DAEMON[$1]}
	strace -f -qq -o "$TMP/calls" -p "$TRACED" -e "trace=${2:-$ANY_CALL}" \
		${3:+-e "inject=$3"} 2>>"$LOGS/strace" &
	TRACER=$!
	until_true 60 is_traced "$TRACED" || late "strace: $(tail -n 1 "$LOGS/strace")"
}

# All threads of a process sleep. A thread with a pending request, as for the last close, does not.
sleeps() {
	! cat "/proc/$1/task/"*/status 2>/dev/null | grep '^State:' | grep -qv sleeping
}

done_tracing() {
	until_true 60 eval "sleeps $TRACED && sleeps $TRACED" || late 'the daemon does not rest'
	full_speed
	n=$(count_calls)
}

# Count without the C library's read of the processors, which comes with a thread that allocates.
count_calls() {
	awk '/resumed|setfs[ug]id\(-1/ { next }
		/cpu\/online/ { opened[$1]; next }
		$1 in opened && / close\(/ { delete opened[$1]; next }
		{ n++ }
		END { print n + 0 }' "$TMP/calls"
}

# calls NAME...: number of these calls in the last trace.
calls() {
	local names=$*
	grep -Ec "^[0-9]+ +(${names// /|})\(" "$TMP/calls" || true
}

# Sum of these calls' return values in the last trace: bytes.
returned() {
	local names=$*
	awk -v names="^[0-9]+ +(<[.][.][.] )?(${names// /|})([(]| resumed>)" '
		$0 ~ names && $(NF - 1) == "=" { sum += $NF }
		END { printf "%.0f\n", sum }' "$TMP/calls"
}

# at_most KEY COUNT: check COUNT against the bound in counts/bounds.tsv.
at_most() {
	local most
	most=$(awk -F '\t' -v what="$1" '$1 == what { print $2 }' "$here/counts/bounds.tsv")
	[ -n "$most" ] || fail "no bound for $1"
	echo "$1: $2, at most $most"
	[ "$2" -le "$most" ] || {
		tail -n 20 "$TMP/calls"
		fail "$1: $2, which is more than $most"
	}
}

# cached COUNTED KEY COMMAND...: run COUNTED, which calls at_most, for a COMMAND whose answers are
# in the kernel's caches. A kernel short of memory drops some of them, so the smallest of five
# counts is compared; a real regression raises all five.
cached() {
	local try
	for try in 1 2 3 4; do
		! ("$@") || return 0
		echo "$2: try $try counted more"
	done
	"$@"
}

# mount_image TYPE MIB DIRECTORY: mount a new filesystem in a file, or skip the test. It ends with
# the test.
mount_image() {
	need_root
	need "mkfs.$1" losetup
	truncate -s "$2M" "$TMP/$1.img"
	case $1 in
	xfs) mkfs.xfs -q -m reflink=1 "$TMP/$1.img" ;;
	ext4) mkfs.ext4 -q "$TMP/$1.img" ;;
	*) "mkfs.$1" -q "$TMP/$1.img" ;;
	esac >/dev/null 2>&1 || fail "mkfs.$1"
	mkdir -p "$3"
	mount -o loop "$TMP/$1.img" "$3" 2>/dev/null || skip "no loop device, or no $1"
}

# Skip the test unless the kernel supports passthrough and root's daemon may use it.
need_passthrough() {
	local major minor
	need_root
	need getfattr
	IFS=.- read -r major minor _ < <(uname -r)
	[ "$((major * 1000 + minor))" -ge 6009 ] || skip "Linux $major.$minor has no passthrough"
	[ "$(stat -f -c %T "$TMP")" != overlayfs ] || skip "$TMP lies on an overlay"
	[ $((0x$(awk '/^CapEff/ { print $2 }' /proc/self/status) >> 21 & 1)) = 1 ] ||
		skip 'no CAP_SYS_ADMIN'
}

# Read mode of a file.
way() {
	getfattr --absolute-names --only-values -n user.organfs.read "$1"
}

# read_by WAY FILE: check the read mode.
read_by() {
	equal "$(way "$2")" "$1" "$2"
}

# cut_power DIRECTORY: the disk of mount_image takes no more writes, and its log ends here
# (EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN with NOLOGFLUSH). restore_power TYPE DIRECTORY: once the
# disk is unused, mount it again in the state of the next boot; a copy of it, because other tests'
# namespaces may still have the old disk mounted.
cut_power() {
	need python3
	python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' "$1" \
		2>"$TMP/.said" || skip "$1 cannot be shut down: $(tail -n 1 "$TMP/.said")"
}

restore_power() {
	umount -l "$2"
	cp "$TMP/$1.img" "$TMP/$1.after"
	if [ "$1" = xfs ]; then
		mount -o loop,nouuid "$TMP/$1.after" "$2"
	else
		mount -o loop "$TMP/$1.after" "$2"
	fi
}

# rounds MANY FEW: repetitions in make check-release, or in make check.
rounds() {
	[ -n "${RELEASE-}" ] && echo "$1" || echo "$2"
}

# some N: all lines of stdin in make check-release, N random ones in make check.
some() {
	shuf -n "$(rounds 100000 "$1")"
}

# every N: step of a sweep through the calls that may fail, each time from another start: 1 with
# FAULTS=all, N in make check-release, 24 N in make check.
every() {
	[ "${FAULTS-}" = all ] && echo 1 || rounds "$1" $(($1 * 24))
}

# A free port below those that the kernel gives to outgoing connections, one of which could take
# the port before the server does.
free_port() {
	local above
	read -r above _ </proc/sys/net/ipv4/ip_local_port_range
	[ "$above" -ge 12000 ] || above=32768
	until port=$((10000 + RANDOM % (above - 10000))) &&
		! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
	echo "$port"
}

# serve OPTIONS... MOUNTPOINT: start organ-serve at a free port; $URL is the address, $SERVER the
# process, $HTTPD the session of its lighttpd. Every user may connect unless an option, or an empty
# $ALL_USERS, forbids it.
serve() {
	local try all=${ALL_USERS---no-token}
	[[ " $* " != *' --password '* && " $* " != *' --token '* ]] || all=
	need lighttpd curl
	[ -e /usr/lib/lighttpd/mod_webdav.so ] || skip 'no mod_webdav of lighttpd'
	for try in 1 2 3 4 5; do
		: >"$LOGS/served"
		"$here/../../mount-helpers/organ-serve" $all "$@" "$(free_port)" >"$LOGS/served" \
			2>"$LOGS/serve.$try" </dev/null &
		SERVER=$!
		until_true 60 is_served || late "not served after 60 s"
		URL=$(cat "$LOGS/served")
		if [ -n "$URL" ]; then
			HTTPD=$(cat "$TMPDIR"/organ-serve.*/pid)
			[[ $HTTPD != *[!0-9]* && -n $HTTPD ]] || fail "lighttpd is \"$HTTPD\""
			return
		fi
		# Another process has taken the port meanwhile.
		until_true 20 grep -Eqi 'in use' "$LOGS/serve.$try" || break
	done
	fail "organ-serve $*: $(tail -n 3 "$LOGS/serve.$try")"
}

is_served() {
	[ -s "$LOGS/served" ] || ! kill -0 "$SERVER" 2>/dev/null
}

# status EXPECTED CURL-ARGUMENTS...: check the status of an HTTP request. $TMP/answer has the
# answer's body.
status() {
	local expected=$1 code
	shift
	rm -f "$TMP/answer"
	code=$(curl -sS -m 60 -g -o "$TMP/answer" -w '%{http_code}' "$@") || fail "curl $*"
	[ "$code" = "$expected" ] ||
		fail "$code instead of $expected for $*: $(cat "$TMP/answer" 2>/dev/null)"
}

# The body of the last answer matches $1.
answer_says() {
	grep -Eq -- "$1" "$TMP/answer" || fail "the answer is: $(cat "$TMP/answer")"
}

# Unmount, which ends this mount's server; it keeps files open for at most 3 seconds.
unmount_served() {
	until_true 60 fusermount3 -q -u "$MNT" ||
		fail "$MNT cannot be unmounted: $(fuser -vm "$MNT" 2>&1)"
	wait "$SERVER" || fail "organ-serve ends with $?"
	no_server
	wait_daemon
}

# organ-serve has left neither process nor file.
no_server() {
	until_true 60 no_lighttpd || fail "lighttpd is still there"
	absent "$(echo "$TMPDIR"/organ-serve.*)"
}

no_lighttpd() {
	! pgrep -s "$HTTPD" -x lighttpd >/dev/null
}

# serve_ranges [PORT]: serve the files in $TMP/www by tools/ranges.py, with its requests in
# $REQUESTS. $URL is the URL of its root, $SERVER the process.
serve_ranges() {
	REQUESTS=$TMP/requests
	mkdir -p "$TMP/www"
	rm -f "$TMP/port"
	PORT=${1:-0} "$here/../tools/ranges.py" "$TMP/www" "$TMP/port" "$REQUESTS" \
		2>"$LOGS/ranges" </dev/null &
	SERVER=$!
	until_true 60 test -e "$TMP/port" || late "no server: $(cat "$LOGS/ranges")"
	URL=http://127.0.0.1:$(cat "$TMP/port")
}

end_server() {
	kill "$SERVER"
	wait "$SERVER" 2>/dev/null || true
}

# End the server with every connection, and start another one in its place.
serve_ranges_again() {
	end_server
	serve_ranges "${URL##*:}"
}

# in_ollama NAME FILE: put FILE into ollama's store as HOST/OWNER/MODEL/TAG.
in_ollama() {
	local dir=$HOME/.ollama/models digest layer=application/vnd.ollama.image
	digest=$(checksum "$2")
	digest=${digest%% *}
	mkdir -p "$dir/blobs" "$dir/manifests/${1%/*}"
	cp "$2" "$dir/blobs/sha256-$digest"
	printf '{"schemaVersion":2,"layers":[
		{"mediaType":"%s.license","digest":"sha256:%064d","size":3},
		{"mediaType":"%s.model","digest":"sha256:%s","size":%d}]}' $layer 0 \
		$layer "$digest" "$(stat -c %s "$2")" >"$dir/manifests/$1"
}

# in_hub OWNER/REPO/FILE FILE: put it into the cache of huggingface_hub, as main of that
# repository.
in_hub() {
	local repo=${1%/*} hash commit=0123456789abcdef0123456789abcdef01234567
	repo=$HOME/.cache/huggingface/hub/models--${repo/\//--}
	hash=$(checksum "$2")
	mkdir -p "$repo/refs" "$repo/blobs" "$repo/snapshots/$commit"
	cp "$2" "$repo/blobs/${hash%% *}"
	printf %s $commit >"$repo/refs/main"
	ln -s "../../blobs/${hash%% *}" "$repo/snapshots/$commit/${1##*/}"
}

# in_lm_studio OWNER/REPO/FILE FILE: put it into LM Studio's folder.
in_lm_studio() {
	mkdir -p "$HOME/.lmstudio/models/${1%/*}"
	cp "$2" "$HOME/.lmstudio/models/$1"
}

# Bytes of files that the server has sent.
bytes_sent() {
	awk '{ sum += $5 } END { print sum + 0 }' "$REQUESTS"
}

# serve_www: serve the same files by lighttpd, with a line "METHOD BYTES" a request in $REQUESTS.
serve_www() {
	local try port
	need lighttpd
	REQUESTS=$TMP/requests
	for try in 1 2 3 4 5; do
		port=$(free_port)
		cat >"$TMP/lighttpd.conf" <<-EOF
			server.modules = ("mod_accesslog")
			server.document-root = "$TMP/www"
			server.bind = "127.0.0.1"
			server.port = $port
			server.max-keep-alive-requests = 100000
			accesslog.filename = "$REQUESTS"
			accesslog.format = "%m %B"
		EOF
		lighttpd -D -f "$TMP/lighttpd.conf" >"$LOGS/lighttpd.$try" 2>&1 </dev/null &
		SERVER=$!
		URL=http://127.0.0.1:$port
		until_true 60 is_answering "$port" || late "lighttpd: $(cat "$LOGS/lighttpd.$try")"
		is_gone "$SERVER" || return 0
	done
	fail "no port for lighttpd: $(cat "$LOGS/lighttpd.$try")"
}

is_answering() {
	is_gone "$SERVER" || (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# failing_disk BACK DIRECTORY: show the directory BACK as a disk that fails as fault says. It ends
# with the test.
failing_disk() {
	local program=${ORGANFS%/*}/tests/tools/organfs-disk
	[ -x "$program" ] || skip "$program is not built"
	mkdir -p "$1" "$2"
	"$program" -c "$TMP/control" "$1" "$2" >>"$LOGS/disk" 2>&1 </dev/null &
	DISK=$!
	until_true 60 mountpoint -q "$2" || late "no disk: $(cat "$LOGS/disk")"
}

# fault [LINE...]: set the disk's faults, in the syntax of tools/disk.c; without a line there are
# none.
fault() {
	printf '%s\n' "$@" >"$TMP/control.new"
	mv "$TMP/control.new" "$TMP/control"
}

end_disk() {
	until_true 60 fusermount3 -q -u "$1" || fail "$1 is in use: $(fuser -vm "$1" 2>&1)"
	wait "$DISK" || fail "the disk ends with $?"
}
