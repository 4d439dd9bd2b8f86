# SPDX-License-Identifier: MIT
# organ-serve-mounts.sh - find and unmount mounts. Sourced by organ-serve and organ-serve-put.
# shellcheck shell=bash

# Number, options, type and source of the uppermost mount at $1, from /proc/self/mountinfo. A digit
# may follow the three digits of an escape. The file is read at once: the shell's read seeks back
# after each line, and would miss lines while other processes unmount.
mount_entry() {
	local lines line where rest found=
	mapfile -t lines </proc/self/mountinfo
	for line in "${lines[@]}"; do
		rest=${line#* * * * }
		where=${rest%% *}
		printf -v where %b. "${where//\\/\\0}"
		[ "$where" = "$1." ] || continue
		rest=${rest#* }
		found="${line%% *} ${rest%% *} ${line#* - }"
	done
	printf '%s\n' "$found"
}

# Is it a mount point, even one whose daemon has died?
is_mounted() {
	[ -n "$(mount_entry "$1")" ]
}

# Does the daemon answer? A read of .log needs the daemon; the kernel may have attributes in its
# cache.
is_alive() {
	timeout 5 head -c 1 -- "$1/.log" >/dev/null 2>&1
}

# unmount_point UMOUNT POINT: unmount a mount of organ-serve and remove its directory. Retries,
# since a file that a client has just read stays open for a moment; but not if the daemon has died.
# Returns 1 if the mount is in use.
unmount_point() {
	local tries=20
	while is_mounted "$2"; do
		[ $((tries -= 1)) -ge 0 ] || return 1
		if is_alive "$2"; then
			"$1" "$2"
		else
			"$1" -l "$2"
		fi >/dev/null 2>&1 9>&- || sleep 0.3
	done
	rmdir -- "$2" 2>/dev/null
	return 0
}
