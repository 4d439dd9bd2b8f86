#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Mounts that link to each other: two that exchange organs, a link loop, three models whose links
# lead through all of them. None waits for another.
. "${0%/*}/../lib.sh"

graft_is() {
	grep -q "^$1	$2	" "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
}

one=$(use stories260K)
two=$(use stories260K-donor)
mkdir "$TMP/two" "$TMP/three"
mount_model -o noassemble "$one"
mount_model -o noassemble "$two" "$TMP/two"
a=$MNT/organs b=$TMP/two/organs

# Exchanged slots have the content of the other's base.
ln -sf "$TMP/two/.base/organs/blk_0_ffn_up.bin" "$a/blk_0_ffn_up.bin"
ln -sf "$MNT/.base/organs/blk_0_ffn_up.bin" "$b/blk_0_ffn_up.bin"
"$GGUF" splice "$one" "$two" blk.0.ffn_up.weight "$TMP/expected.one"
"$GGUF" splice "$two" "$one" blk.0.ffn_up.weight "$TMP/expected.two"
in_time 30 cat "$MNT/model.gguf" "$TMP/two/model.gguf" >/dev/null
same "$MNT/model.gguf" "$TMP/expected.one"
same "$TMP/two/model.gguf" "$TMP/expected.two"

# Both slots of a loop are broken, without a hang, both at once.
ln -sf "$b/blk_1_ffn_up.bin" "$a/blk_1_ffn_up.bin"
rm "$b/blk_1_ffn_up.bin"
ln -s "$a/blk_1_ffn_up.bin" "$b/blk_1_ffn_up.bin"
for i in 1 2 3 4; do
	in_time 30 cat "$MNT/model.gguf" "$a/blk_1_ffn_up.theta" >/dev/null 2>&1 &
	in_time 30 cat "$TMP/two/model.gguf" "$b/blk_1_ffn_up.theta" >/dev/null 2>&1 &
done
for job in $(jobs -p); do
	case " ${DAEMON[*]} " in
	*" $job "*) ;;
	*)
		status=0
		wait "$job" || status=$?
		[ $status != 124 ] || fail "a reader of the ring hangs"
		;;
	esac
done
graft_is "organs/blk_1_ffn_up.bin" "broken link"
expect_fail "Too many levels" cat "$a/blk_1_ffn_up.bin"
# Both slots are whole without the loop.
ln -sf "$TMP/two/.base/organs/blk_1_ffn_up.bin" "$b/blk_1_ffn_up.bin"
same "$a/blk_1_ffn_up.theta" "$TMP/two/.base/organs/blk_1_ffn_up.theta"
"$GGUF" splice "$one" "$two" 'blk.[01].ffn_up.weight' "$TMP/expected.one"
same "$MNT/model.gguf" "$TMP/expected.one"

# A mount of another mount's model.gguf, which links back: its bytes are its own.
mount_model -o noassemble "$MNT/model.gguf" "$TMP/three"
ln -sf "$TMP/three/organs/blk_2_ffn_up.bin" "$a/blk_2_ffn_up.bin"
graft_is "organs/blk_2_ffn_up.bin" "broken link"
expect_fail "Input/output error" in_time 30 cat "$MNT/model.gguf"
rm "$a/blk_2_ffn_up.bin"
cp "$MNT/.base/organs/blk_2_ffn_up.bin" "$a/blk_2_ffn_up.bin"
same "$MNT/model.gguf" "$TMP/expected.one"
unmount_and_wait "$TMP/three"
unmount_and_wait "$TMP/two"
unmount_and_wait
