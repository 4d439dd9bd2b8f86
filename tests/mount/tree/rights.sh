#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Root's daemon acts for a user with only that user's file rights: neither a path in /proc nor a
# descriptor that root's program writes to reaches files closed to the user.
. "${0%/*}/../lib.sh"

need_root
need setpriv
OTHER=12345
base=$(use stories260K)
chmod 755 "$ORGANFS_TEST_DIR" "$TMP"
as_other() {
	setpriv --reuid $OTHER --regid $OTHER --clear-groups "$@"
}
as_other test -x "$TMP" || skip "$TMP is closed to other users"
mkdir -m 777 "$TMP/theirs"
mkdir -m 700 "$TMP/shut"
mkdir -m 777 "$TMP/shut/open" # writable by everyone, but reachable by root only
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/shut/open/organ.bin"
cp "$TMP/shut/open/organ.bin" "$TMP/theirs/organ.bin"
cp "$MODELS/stories260K-donor.gguf" "$TMP/shut/open/donor.gguf"
chmod 644 "$TMP/shut/open/organ.bin" "$TMP/theirs/organ.bin"
(cd "$TMP/shut/open" && exec sleep 600) &
roots=$!
until_true 20 grep -q sleep "/proc/$roots/comm"
mount_model -o "allow_other,umask=0,noassemble,layer=$TMP/shut/layer" "$base"

# The path leads through a process of root's, or the daemon itself.
daemon=${DAEMON[$MNT]}
for place in "/proc/$roots/cwd" "/proc/$roots/root$TMP/theirs" "/proc/self/root$TMP/theirs" \
	"/proc/$daemon/root$TMP/theirs" "/proc/thread-self/root$TMP/theirs"; do
	! as_other sh -c "echo '$place/x.gguf' >'$MNT/.assemble'" 2>/dev/null ||
		fail "assembled at $place"
	assembly_says 'in /proc|permission denied'
done
absent "$TMP/shut/open/x.gguf"
absent "$TMP/theirs/x.gguf"
ln -s "/proc/$roots/cwd" "$TMP/theirs/way"
! as_other sh -c "echo '$TMP/theirs/way/x.gguf' >'$MNT/.assemble'" 2>/dev/null ||
	fail 'assembled by way of a link'
absent "$TMP/shut/open/x.gguf"
for place in "/proc/$roots/cwd" "$TMP/theirs/way" "$TMP/shut/open"; do
	as_other ln -sf "$place/organ.bin" "$MNT/organs/blk_1_ffn_up.bin" 2>/dev/null || true
	! as_other cmp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/theirs/organ.bin" >/dev/null 2>&1 ||
		fail "the organ at $place is shown"
done
as_other rm -f "$MNT/organs/blk_1_ffn_up.bin"
echo all >"$MNT/.undo"

# A recipe, which root can write, does not reach it either.
mkdir "$TMP/donor"
mount_model -o ro "$TMP/shut/open/donor.gguf" "$TMP/donor"
cp "$TMP/donor/organs/blk_1_ffn_up.bin" "$MNT/organs/"
ln -sf "$TMP/shut/open/organ.bin" "$MNT/organs/blk_2_ffn_up.bin"
cp "$MNT/model.gguf" "$TMP/roots.gguf"
cp "$MNT/.recipe" "$TMP/recipe.yml"
chmod 644 "$TMP/recipe.yml"
echo all >"$MNT/.undo"
as_other cat "$TMP/recipe.yml" >/dev/null
! as_other sh -c "cat '$TMP/recipe.yml' >'$MNT/.recipe'" 2>/dev/null ||
	fail 'a recipe reads for root'
log_says 'donor.gguf'
same "$MNT/model.gguf" "$base"
sed '/^donors/,$d' "$TMP/recipe.yml" >"$TMP/link.yml"
printf 'grafts:\n- {slot: organs/blk_2_ffn_up, how: link, target: %s}\n' \
	"$TMP/shut/open/organ.bin" >>"$TMP/link.yml"
chmod 644 "$TMP/link.yml"
as_other sh -c "cat '$TMP/link.yml' >'$MNT/.recipe'" 2>/dev/null || true
! as_other cmp "$MNT/organs/blk_2_ffn_up.bin" "$TMP/theirs/organ.bin" >/dev/null 2>&1 ||
	fail 'a link of a recipe is followed for root'
echo all >"$MNT/.undo"
cat "$TMP/recipe.yml" >"$MNT/.recipe"
same "$MNT/model.gguf" "$TMP/roots.gguf"
echo all >"$MNT/.undo"
unmount_and_wait "$TMP/donor"

# A request that root's program writes to a user's descriptor has the user's rights.
python3 -c 'import os, sys
uid = int(sys.argv[1])
os.setegid(uid), os.seteuid(uid)
fd = os.open(sys.argv[2], os.O_WRONLY)
os.seteuid(0), os.setegid(0)
try:
    os.write(fd, os.fsencode(sys.argv[3]))
    sys.exit("written")
except OSError as error:
    print(os.strerror(error.errno))' $OTHER "$MNT/.assemble" "$TMP/shut/x.gguf" ||
	fail 'written with the rights of the program'
absent "$TMP/shut/x.gguf"

# Permitted requests work: a relative name, a user's file, a link, a donor.
as_other sh -c "cd '$TMP/theirs' && echo ours.gguf >'$MNT/.assemble'" ||
	fail "$(cat "$MNT/.assemble")"
same "$TMP/theirs/ours.gguf" "$base"
equal "$(stat -c %u "$TMP/theirs/ours.gguf")" $OTHER 'owner of the assembled model'
as_other cp "$TMP/theirs/organ.bin" "$MNT/organs/blk_1_ffn_up.bin"
grep -q "^organs/blk_1_ffn_up.bin	copy	.*$TMP/theirs/organ.bin" "$MNT/.grafts" ||
	fail "the donor is not known: $(cat "$MNT/.grafts")"
as_other ln -sf "$TMP/theirs/organ.bin" "$MNT/organs/blk_2_ffn_up.bin"
as_other cmp "$MNT/organs/blk_2_ffn_up.bin" "$TMP/theirs/organ.bin"
# A model that the user assembled and can write is not used to serve model.gguf.
as_other sh -c "echo '$TMP/theirs/again.gguf' >'$MNT/.assemble'"
model=$(checksum "$TMP/theirs/again.gguf")
time=$(stat -c %y "$TMP/theirs/again.gguf")
as_other sh -c "printf other | dd of='$TMP/theirs/again.gguf' bs=1 seek=900000 conv=notrunc \\
	status=none; touch -d '$time' '$TMP/theirs/again.gguf'"
equal "$(checksum "$MNT/model.gguf")" "$model" 'the model'
# Threads that acted for users have root's rights again.
echo "$TMP/shut/roots.gguf" >"$MNT/.assemble"
same "$TMP/shut/roots.gguf" "$MNT/model.gguf"
for thread in "/proc/$daemon/task/"*; do
	# A thread that has ended has no rights.
	status=$(cat "$thread/status" 2>/dev/null) || continue
	equal "$(grep -E '^Cap(Prm|Eff)' <<<"$status" | cut -f 2 | sort -u | wc -l)" 1 "$thread"
	grep -q "^Uid:	0	0	0	0$" <<<"$status" || fail "$(grep ^Uid <<<"$status")"
done
kill $roots
unmount_and_wait
