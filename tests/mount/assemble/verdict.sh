#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .check's verdict against a model appears in .assemble, in the log and in the unmount's message.
# The model is written all the same.
. "${0%/*}/../lib.sh"
with_umount_helper

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor" "$TMP/out"
mount_model -o ro "$donor" "$TMP/donor"

# unmount_says PATTERN [STATUS]: check it, also for the helper of umount(8).
unmount_says() {
	local status=0
	"$HELPER" -v "$MNT" >"$TMP/told" 2>&1 || status=$?
	equal $status "${2:-0}" "$(cat "$TMP/told")"
	wait_daemon
	grep -Eq -- "$1" "$TMP/told" || fail "no \"$1\" in: $(cat "$TMP/told")"
}

# .check has nothing against the model.
mount_daemon "$base" "$MNT"
cp "$TMP/donor/organs/"blk_1_ffn_*.bin "$MNT/organs/"
equal "$(cut -f 1 "$MNT/.check" | head -n 1)" ok
echo "$TMP/out/a.gguf" >"$MNT/.assemble"
! grep -q 'check says' "$MNT/.assemble" || fail "$(cat "$MNT/.assemble")"

# A risk is shown with its reason from .check.
cp "$MNT/.base/organs/blk_1_ffn_up.bin" "$MNT/organs/"
reason=$(grep '^risky	unit' "$MNT/.check" | cut -f 3)
echo "$TMP/out/a.gguf" >"$MNT/.assemble"
assembly_says "^assembled: $TMP/out/a.gguf: .* written; .check says: risky: unit: ${reason%% *} "
log_says "assembled: .*; .check says: risky: unit: "
same "$TMP/out/a.gguf" "$MNT/model.gguf"
unmount_says "^already assembled: $TMP/out/a.gguf: .*; .check says: risky: unit: "

# The worst verdict is shown, with the number of others as bad.
mount_daemon "$base" "$MNT"
cp "$TMP/donor/organs/"blk_1_ffn_up.bin "$MNT/organs/"
rm "$MNT/organs/blk_2_ffn_up.bin"
echo "$TMP/out/a.gguf" >"$MNT/.assemble"
assembly_says 'check says: impossible: complete: removed, .* blk 2 ffn_up$'
echo 3 >"$MNT/metadata/llama.block_count" || true
new=$TMP/scribe-Q4_K_M.grafted.gguf
unmount_says "^assembled: $new: .*; .check says: impossible: [a-z]+: .* \(and [0-9]+ more\)" 2
exists "$new"

# Without a terminal an impossible model is written too, with one line and status of the command,
# the same status of the daemon, and a line in its log.
impossible=".check calls this model impossible: complete: removed"
for command in "$HELPER" umount; do
	rm "$new"
	"$ORGANFS" -f "$base" "$MNT" 2>"$LOGS/foreground" </dev/null &
	daemon=$!
	until_true 60 mountpoint -q "$MNT" || late 'not mounted'
	rm -rf "$MNT"/organs/blk_[34]_*.bin
	umount_says 2 "^[a-z./-]*umount[a-z.]*: $new: written, but $impossible" \
		"$command" "$MNT"
	equal "$(wc -l <"$TMP/.said")" 1 "$(cat "$TMP/.said")"
	exists "$new"
	status=0
	wait $daemon || status=$?
	equal $status 2 'exit status of the daemon'
	grep -q "assembled: $new: .* bytes, 6 removals, .*; .check says: impossible: complete: " \
		"$LOGS/foreground" || fail "log: $(cat "$LOGS/foreground")"
done

# The base alone gets no verdict.
mount_daemon "$base" "$MNT"
echo "$TMP/out/a.gguf" >"$MNT/.assemble"
! grep -q 'check says' "$MNT/.assemble" || fail "$(cat "$MNT/.assemble")"
unmount_says 'unmounted'

# A donor whose filesystem does not answer neither delays nor fails an assembly.
mkdir "$TMP/between"
cp -r "$MODELS/stories260K-donor.gguf" "$TMP/served.gguf"
mount_model "$TMP/served.gguf" "$TMP/between"
echo other >"$TMP/between/metadata/general.name"
mkdir "$TMP/outer"
mount_model -o ro "$TMP/between/model.gguf" "$TMP/outer"
base=$(use stories260K)
mount_model -o "output=$TMP/out/served.gguf" "$base"
cp "$TMP/outer/organs/blk_1_ffn_up.bin" "$MNT/organs/"
equal "$(cut -f 8 "$MNT/.grafts")" "$TMP/between/model.gguf"
stop "${DAEMON[$TMP/between]}"
in_time 30 sh -c "echo '$TMP/out/b.gguf' >'$MNT/.assemble'" || fail 'the assembly fails'
assembly_says "assembled: .*; .check says: nothing, .*does not answer"
unmount
# LeakSanitizer would wait for the hung thread at exit.
grep -q __asan_init "$ORGANFS" || wait_daemon
until_true 60 test -e "$TMP/out/served.gguf" || fail "the unmount writes nothing"
same "$TMP/out/b.gguf" "$TMP/out/served.gguf"
kill -CONT "${DAEMON[$TMP/between]}"
[ -z "${DAEMON[$MNT]-}" ] || wait_daemon
unmount_and_wait "$TMP/outer"
unmount_and_wait "$TMP/between"
unmount_and_wait "$TMP/donor"
