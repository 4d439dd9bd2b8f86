# SPDX-License-Identifier: MIT
# organ-serve-mounts.sh - what is mounted where, and the end of it. Sourced by organ-serve and
# organ-serve-put.
# shellcheck shell=bash

# What /proc/self/mountinfo says of the uppermost that is mounted at $1: its number there, options,
# type and source. A digit may follow upon the three of an escape in it. read would seek back behind
# each line, and miss some when others unmount elsewhere.
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

# Also where the daemon has died.
is_mounted() {
	[ -n "$(mount_entry "$1")" ]
}

# Does the daemon answer? What is known of files, the kernel tells without it.
is_alive() {
	timeout 5 head -c 1 -- "$1/.log" >/dev/null 2>&1
}

# unmount_point UMOUNT POINT: unmount what organ-serve has mounted there, and remove the directory.
# What a client has just read is open for a moment. Where the daemon has died nothing is waited for.
# Returns 1 if it is in use.
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
