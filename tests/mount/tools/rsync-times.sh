#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: tests programs of others
# Files of one shape and one mtime: rsync and cp -u tell their organs apart; organs copied with
# their time count as unchanged later, also from a read-only mount and after the next mount. An
# unchanged model looks the same at every mount.
# timeout: 240
. "${0%/*}/../lib.sh"

need rsync
donor=$TMP/donor layer=$TMP/layer
mkdir "$donor"
ours=$(use stories260K)
theirs=$(use stories260K-donor)
equal "$(stat -c %Y "$ours")" "$(stat -c %Y "$theirs")" 'times of the models'

# stat of every file, except files that describe the current state or contain paths.
looks() {
	(cd "$1" && find . -mindepth 1 ! -name .log ! -name .assemble ! -name manifest.json \
		! -name .report.json -exec \
		stat -c '%n %i %s %a %.9Y %.9Z' {} + | sort)
}

take_over() {
	rsync -a "$donor/organs/" "$MNT/organs/"
	diff -r "$donor/organs" "$MNT/organs" || fail "rsync has not grafted all"
	equal "$(cut -f 2 "$MNT/.grafts" | sort | uniq -c | tr -s ' ')" \
		" $(ls "$MNT/organs" | grep -c 'bin$') copy" 'grafts'
	equal "$(rsync -ai "$donor/organs/" "$MNT/organs/")" '' "files that rsync copies again, $1"
}

mount_model -o layer="$layer" "$ours"
mount_model -o ro "$theirs" "$donor"
differ "$donor/organs/blk_0_ffn_up.bin" "$MNT/organs/blk_0_ffn_up.bin"
[ "$(stat -c %Y "$MNT/organs/blk_0_ffn_up.bin")" -lt "$(stat -c %Y "$ours")" ] &&
	[ "$(stat -c %Y "$MNT/organs/blk_0_ffn_up.bin")" -ge $(($(stat -c %Y "$ours") - 86400)) ] ||
	fail "organs are of $(stat -c %y "$MNT/organs/blk_0_ffn_up.bin")"
take_over 'from a read-only mount'
unmount_and_wait
mount_model -o layer="$layer" "$ours"
equal "$(rsync -ai "$donor/organs/" "$MNT/organs/")" '' 'files copied again after a mount'
unmount_and_wait "$donor"
mount_model "$theirs" "$donor"
equal "$(rsync -ai "$donor/organs/" "$MNT/organs/")" '' 'files that rsync copies from a new mount'

# The base's own organs come back, with their time.
rsync -a "$MNT/.base/organs/" "$MNT/organs/"
equal "$(cat "$MNT/.grafts")" '' 'grafts after the way back'
equal "$(rsync -rti --include='*.bin' --exclude='*' "$MNT/.base/organs/" "$MNT/organs/")" '' \
	'of the base again'

# cp -u takes newer organs, once.
cp -u "$donor/organs/"*.bin "$MNT/organs/"
before=$(cat "$MNT/.grafts")
cp -u "$donor/organs/"*.bin "$MNT/organs/"
equal "$(cat "$MNT/.grafts")" "$before" 'grafts after a second cp -u'
touch "$TMP/new"
cp "$donor/organs/blk_1_ffn_up.bin" "$TMP/new"
cp -u "$TMP/new" "$MNT/organs/blk_1_ffn_up.bin"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/new"

# Modes are the files', and the mount is read-only.
unmount_and_wait "$donor"
mount_model -o ro "$theirs" "$donor"
equal "$(stat -c %a "$donor/organs/blk_0_ffn_up.bin")" 644 'mode in a read-only mount'
expect_fail 'Read-only' cp "$TMP/new" "$donor/organs/blk_1_ffn_up.bin"
[ ! -w "$donor/organs/blk_1_ffn_up.bin" ] || fail "may be written to, in a read-only mount"
cp -r "$donor/organs" "$TMP/by-cp"
equal "$(stat -c %a "$TMP/by-cp/blk_0_ffn_up.bin")" 644 'mode of a copy'

# After unmount, copy and mount it looks as before.
looks "$donor" >"$TMP/before"
unmount_and_wait "$donor"
mkdir "$TMP/copy"
cp -p "$theirs" "$TMP/copy/"
for model in "$theirs" "$TMP/copy/${theirs##*/}"; do
	mount_model -o ro "$model" "$donor"
	cat "$donor/model.gguf" "$donor/organs/.theta" >/dev/null
	looks "$donor" | diff "$TMP/before" - || fail "$model looks other than before"
	unmount_and_wait "$donor"
done
unmount_and_wait
