#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A layer may come from anywhere. Targets of its links and references are opened with their owners'
# rights; a layer that other users may have changed is used only with layer=, and with a warning.
. "${0%/*}/../lib.sh"

with_mount_helper
with_ordinary_user
OTHER=12345
home=$TMP/home
mnt=$home/mnt
base=$home/stories260K.gguf
donor=$home/stories260K-donor.gguf
cp "$MODELS/stories260K.gguf" "$MODELS/stories260K-donor.gguf" "$home"
"$GGUF" organ "$donor" blk.1.ffn_up.weight "$home/secret.bin"
organ=$home/secret.bin
chown -R "$ORDINARY:$ORDINARY" "$home"
chmod 755 "$home" "$ORGANFS_TEST_DIR" "$TMP"
chmod 600 "$organ" "$donor" "$base"
# The layer has a reference to the donor, as a mount of both makes it, and a link to the organ.
"$ORGANFS" -o "noassemble,layer=$TMP/made" "$base" "$donor" "$MNT" </dev/null
cp "$MNT/stories260K-donor/organs/blk_1_ffn_up.bin" "$MNT/stories260K/organs/"
unmount_and_wait
equal "$(layer_sql "$TMP/made/stories260K" 'SELECT name, kind FROM slot')" 'blk_1_ffn_up|reference'
layer_change "$TMP/made/stories260K" "INSERT INTO slot (class, name, kind, mtime, target, uid, gid)
	VALUES ('organs', 'blk_2_ffn_up', 'link', 1, '$organ', 0, 0)"

# layer_of NAME USER OWNER FILE-OWNER: a copy in $home for USER; OWNER owns the links and
# references by its rows, and FILE-OWNER its database.
layer_of() {
	local dir=$home/$1
	rm -rf "$dir"
	cp -a "$TMP/made/stories260K" "$dir"
	layer_change "$dir" "UPDATE slot SET uid = $3, gid = $3"
	chown -hR "$2:$2" "$dir"
	chown "$4:$4" "$dir/layer.db"
	chmod 666 "$dir/layer.db"
	[ "$2" != "$4" ] || chmod 600 "$dir/layer.db"
}
# shows MOUNT COUNT: the bytes of COUNT of the two grafts are readable. The daemon reads the
# reference; the reader follows a link too.
shows() {
	local n
	n=$($as grep -vc broken "$1/.grafts") || true
	[ "$n" = "$2" ] || fail "$n of the secrets are shown: $($as cat "$1/.grafts" "$1/.log")"
	[ "$2" = 0 ] || $as cmp "$1/organs/blk_1_ffn_up.bin" "$organ"
	[ "$2" != 0 ] || ! $as cmp "$1/organs/blk_1_ffn_up.bin" "$organ" >/dev/null 2>&1 ||
		fail 'the reference is shown'
	equal "$($as cat "$1/.grafts" | wc -l)" 2 "grafts: $($as cat "$1/.grafts")"
}

# Root's daemon can act as each owner.
as=
# A row in another user's file belongs to that user, even if it names another owner.
layer_of roots 0 0 $OTHER
"$ORGANFS" -o "ro,layer=$home/roots" "$base" "$MNT" </dev/null 2>"$TMP/said"
shows "$MNT" 0
grep -q 'warning: the layer .*/roots may contain .* another user' "$TMP/said" ||
	fail "says: $(cat "$TMP/said")"
unmount_and_wait
layer_of roots 0 $OTHER 0
"$ORGANFS" -o "ro,layer=$home/roots" "$base" "$MNT" </dev/null 2>"$TMP/said"
shows "$MNT" 0
unmount_and_wait
layer_of roots 0 0 0
"$ORGANFS" -o "ro,layer=$home/roots" "$base" "$MNT" </dev/null 2>"$TMP/said"
equal "$(cat "$TMP/said")" '' "message about root's layer"
shows "$MNT" 2
unmount_and_wait

# A user's daemon can act as nobody else.
as=as_user
unset XDG_STATE_HOME
mounts() {
	as_user organfs -o "$1" "$base" "$mnt" </dev/null 2>"$TMP/said" || fail "$(cat "$TMP/said")"
}
ends() {
	DAEMON[$mnt]=$(daemon_of "$mnt" as_user)
	as_user fusermount3 -u "$mnt"
	wait_daemon "$mnt"
}
layer_of users $ORDINARY $ORDINARY $OTHER
mounts "noassemble,layer=$home/users"
shows "$mnt" 0
as_user grep -q "user $OTHER" "$mnt/.log" || fail "the log: $(as_user cat "$mnt/.log")"
grep -q 'warning: the layer' "$TMP/said" || fail "says: $(cat "$TMP/said")"
ends
layer_of users $ORDINARY $ORDINARY $ORDINARY
mounts "noassemble,layer=$home/users"
equal "$(cat "$TMP/said")" '' "message about the user's own layer"
shows "$mnt" 2
ends

# Without an option the layer is taken up if no other user could have written to it.
mounts noassemble
as_user cp "$mnt/organs/blk_3_ffn_up.bin" "$mnt/organs/blk_1_ffn_up.bin"
ends
private=$(echo "$home"/.local/state/organfs/*)
exists "$private/layer.db"
takes() {
	mounts noassemble
	equal "$(as_user cat "$mnt/.grafts" | wc -l)" "$1" "grafts, $2: $(cat "$TMP/said")"
	[ "$1" = 1 ] || grep -q "begins without the grafts in $private: .*; to use them, mount" \
		"$TMP/said" || fail "$2: $(cat "$TMP/said")"
	ends
	rm -rf "$private-2"
}
takes 1 'as it was'
chmod 777 "$private/blobs" && takes 0 'a directory that others may write to'
chmod 700 "$private/blobs" && chmod 770 "$private" && chgrp $OTHER "$private" &&
	takes 0 'one that a group may write to'
chmod 700 "$private" && chmod 666 "$private/layer.db" &&
	takes 0 'a database that others may write to'
chmod 644 "$private/layer.db" && chown 0:0 "$private/layer.db" && takes 0 'unpacked by root'
chmod 600 "$private/layer.db" && takes 0 'unpacked by root, for root alone'
chown -R "$ORDINARY:$ORDINARY" "$private" && chmod 777 "${private%/*}" &&
	takes 0 'in a common place'
mounts "noassemble,layer=$private"
grep -q 'warning: the layer .*: other users may replace it' "$TMP/said" || fail "$(cat "$TMP/said")"
equal "$(as_user cat "$mnt/.grafts" | wc -l)" 1 'grafts with layer='
ends
chmod 700 "${private%/*}" && takes 1 'as it was again'

# umask 002 is usual if each user has a group: the group may write to all files of the user. A home
# of another group with the setgid bit is accepted too.
for group in "$ORDINARY" $OTHER; do
	rm -rf "$home/.local"
	chgrp "$group" "$home" && chmod 2775 "$home"
	(
		umask 002
		[ "$group" = $OTHER ] || as_user mkdir -p "$home/.local/state/organfs"
		mounts noassemble
	)
	as_user cp "$mnt/organs/blk_3_ffn_up.bin" "$mnt/organs/blk_1_ffn_up.bin"
	ends
	takes 1 "in a home of group $group"
	equal "$(grep -c warning "$TMP/said")" 0 "warnings in a home of group $group"
done
