#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names that are no tensor's cannot be made, moved or removed; in a read-only mount no name can.
. "${0%/*}/../lib.sh"

base=$(use stories260K)

# refused MESSAGE COMMAND...: the command fails with that message.
refused() {
	local message=$1 said
	shift
	if said=$("$@" 2>&1); then
		fail "went through: $*"
	fi
	case $said in
	*"$message"*) ;;
	*) fail "$*: $said" ;;
	esac
}

for options in noassemble ro; do
	message='Operation not permitted'
	[ $options = noassemble ] || message='Read-only file system'
	mount_model -o $options "$base"
	find "$MNT" -printf '%P %s\n' | sort >"$TMP/before"
	refused "$message" rm -f "$MNT/model.gguf"
	[ $options = ro ] || message='Directory not empty'
	refused "$message" rmdir "$MNT/norm"
	[ $options = ro ] || message='Operation not permitted'
	refused "$message" mkdir "$MNT/new"
	refused "$message" ln -s /etc/passwd "$MNT/link.bin"
	refused "$message" mv "$MNT/organs/blk_0_ffn_up.theta" "$MNT/organs/moved.theta"
	refused "$message" mv "$MNT/organs/blk_0_ffn_up.bin" "$MNT/blk_0_ffn_up.bin"
	refused "$message" ln "$MNT/organs/blk_0_ffn_up.bin" "$MNT/blk_0_ffn_up.bin"
	refused "$message" mv "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/moved.bin"
	refused "$message" mv "$MNT/organs/blk_0_ffn_up.bin" "$MNT/norm/blk_0_ffn_up.bin"
	[ $options = ro ] || message='Invalid argument'
	refused "$message" ln "$MNT/organs/blk_0_ffn_up.bin" "$MNT/organs/link.bin"
	[ $options = ro ] || message='Operation not permitted'
	refused "$message" touch "$MNT/new"
	refused "$message" mknod "$MNT/fifo" p
	find "$MNT" -printf '%P %s\n' | grep -v '^\.log ' | sort >"$TMP/after"
	grep -v '^\.log ' "$TMP/before" | cmp - "$TMP/after" || fail 'the names changed'
	same "$MNT/model.gguf" "$base"
	unmount_and_wait
done
