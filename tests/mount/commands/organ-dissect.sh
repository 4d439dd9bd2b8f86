#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# release: every option of a script
# plain: tests programs of others
# timeout: 300
# organ-dissect: each model's output equals the mount's files and is complete, or absent.
. "${0%/*}/../lib.sh"

need jq iconv flock
dissect=$here/../../mount-helpers/organ-dissect
out=$TMP/out
report=$out/dissection_report.json

# as_mounted MODEL DIRECTORY: compare names and bytes of the files.
as_mounted() {
	mount_model -o ro "$1"
	(cd "$MNT" && find . -name '*.bin' | sort) >"$TMP/expected"
	(cd "$2" && find . -name '*.bin' | sort) >"$TMP/found"
	same "$TMP/expected" "$TMP/found"
	while read -r file; do
		same "$MNT/$file" "$2/$file"
	done <"$TMP/found"
	same "$MNT/manifest.json" "$2/manifest.json"
	unmount_and_wait
}
# OUT has only complete models, and nothing is mounted.
only() {
	equal "$(ls -A "$out" | tr '\n' ' ')" "$1 " 'in OUT'
	! grep "$TMP" /proc/self/mountinfo || fail 'something is mounted'
}

odd=$(printf 'a "b"\\ c\td')
mkdir -p "$TMP/models/deep"
cp "$MODELS/scribe-Q4_K_M.gguf" "$TMP/models"
cp "$MODELS/stories260K.gguf" "$TMP/models/deep/$odd.gguf"
echo precious >"$TMP/victim"
mkdir "$out"
ln -s "$TMP/victim" "$out/.said"
ln -s "$TMP/victim" "$report.new"
"$dissect" --verify "$MODELS/types.gguf" "$TMP/models" "$out" >"$TMP/said" ||
	fail "$(cat "$TMP/said")"
equal "$(cat "$TMP/victim")" precious 'a link in OUT is written through'
only "$odd dissection_report.json scribe-Q4_K_M types"
as_mounted "$MODELS/types.gguf" "$out/types"
as_mounted "$TMP/models/scribe-Q4_K_M.gguf" "$out/scribe-Q4_K_M"
as_mounted "$TMP/models/deep/$odd.gguf" "$out/$odd"
equal "$(ls "$out/scribe-Q4_K_M" | tr '\n' ' ')" \
	'checksums.xxh128 embed header.gguf manifest.json norm organs skeleton '
exists "$out/types/other"
equal "$(jq -c 'map(.model)' "$report")" \
	"$(jq -cn --arg odd "$odd" '["types", $odd, "scribe-Q4_K_M"]')"
equal "$(jq -c '.[2] | [.organs, .file, (.MB > 2), (.seconds > 0), (.MB_per_s > 0)]' "$report")" \
	"[57,\"$TMP/models/scribe-Q4_K_M.gguf\",true,true,true]"

# Names may look like options.
mkdir -p "$TMP/dash/-name"
cp "$MODELS/types.gguf" "$TMP/dash/-type.gguf"
cp "$MODELS/types.gguf" "$TMP/dash/-name/-o.gguf"
(cd "$TMP/dash" && "$dissect" -- -type.gguf -name "$TMP/dashed") >"$TMP/said" 2>&1 ||
	fail "$(cat "$TMP/said")"
equal "$(ls -A "$TMP/dashed" | tr '\n' ' ')" '-o -type dissection_report.json '
as_mounted "$TMP/dash/-type.gguf" "$TMP/dashed/-type"

# An existing model is not made again, and stays in the report.
touch "$out/types/mine"
before=$(jq -c '.[0]' "$report")
rm -r "$out/scribe-Q4_K_M"
"$dissect" "$MODELS/types.gguf" "$MODELS/clerk-Q4_K_M.gguf" "$out" >"$TMP/said"
exists "$out/types/mine"
equal "$(jq -c 'map(.model)' "$report")" \
	"$(jq -cn --arg odd "$odd" '["types", $odd, "clerk-Q4_K_M"]')"
equal "$(jq -c '.[0]' "$report")" "$before"
cp "$MODELS/types-stress.gguf" "$TMP/models/types.gguf"
expect_fail 'types is of another file' "$dissect" "$TMP/models/types.gguf" "$out"

# A file that is no model does not stop the others; no error leaves half a model.
rm -rf "$out"
head -c 5000 "$MODELS/types.gguf" >"$TMP/junk.gguf"
expect_fail "failed: $TMP/junk.gguf: at byte" \
	"$dissect" "$TMP/junk.gguf" "$MODELS/types.gguf" "$out"
only 'dissection_report.json types'
equal "$(jq -c 'map(.model)' "$report")" '["types"]'
# The disk spoils a file.
cat >"$TMP/harmful" <<END
#!/bin/sh
for dir; do :; done
"$ORGANFS" "\$@" || exit
eval "\$HARM"
END
chmod +x "$TMP/harmful"
ORGANFS=$TMP/harmful HARM='printf x | dd of="$dir/embed/token_embd.bin" conv=notrunc' \
	expect_fail 'token_embd.bin: it differs from the model' \
	"$dissect" --verify "$MODELS/stories260K.gguf" "$out"
only 'dissection_report.json types'
# Both signals end organ-dissect while it unpacks.
for signal in TERM KILL; do
	HARM='kill -'$signal' $(cat '$TMP'/pid)'
	export HARM
	ORGANFS=$TMP/harmful sh -c 'echo $$ >"$0/pid"; exec "$@"' "$TMP" \
		"$dissect" "$MODELS/stories260K.gguf" "$out" >"$TMP/said" 2>&1 && fail 'not killed'
	absent "$out/stories260K"
done
exists "$out/.stories260K.part"
"$dissect" --verify "$MODELS/stories260K.gguf" "$out" >"$TMP/said" || fail "$(cat "$TMP/said")"
only 'dissection_report.json stories260K types'
as_mounted "$MODELS/stories260K.gguf" "$out/stories260K"

# Foreign files in OUT stay, even under a model's name.
mkdir -p "$out/clerk-Q4_K_M" "$out/.types-stress.part"
echo mine | tee "$out/clerk-Q4_K_M/letter" >"$out/.organfs-a1b2c3.part"
expect_fail "clerk-Q4_K_M.gguf: $out/clerk-Q4_K_M is there, and not from a model" \
	"$dissect" "$MODELS/clerk-Q4_K_M.gguf" "$MODELS/types-stress.gguf" "$out"
equal "$(ls -A "$out/clerk-Q4_K_M")" letter
equal "$(cat "$out/.organfs-a1b2c3.part")" mine
rm "$out/.organfs-a1b2c3.part"
only 'clerk-Q4_K_M dissection_report.json stories260K types types-stress'

# A dissected model can be mounted, packed and dissected again; the last line has the sum.
"$dissect" "$out/types" "$TMP/again" >"$TMP/said" || fail "$(cat "$TMP/said")"
diff -r "$out/types/organs" "$TMP/again/types/organs" || fail 'other organs the second time'
"$ORGANFS" --pack "$TMP/again/types" "$TMP/types.gguf" 2>/dev/null || fail 'it is no model'
same "$MODELS/types.gguf" "$TMP/types.gguf"
"$dissect" "$out" "$TMP/all" >"$TMP/said" || true
equal "$(tail -n 1 "$TMP/said" | cut -d , -f 1)" 'total: models: 3'
sed 's/.*organs: \([0-9]*\), MB: \([0-9.]*\),.*/\1 \2/' "$TMP/said" | awk '
	{ organs += $1; mb += $2 }
	END { exit organs != 2 * $1 || mb - 2 * $2 > 0.01 || 2 * $2 - mb > 0.01 || !organs }' ||
	fail "a sum that is none: $(cat "$TMP/said")"

for usage in '' 'one' '-x a b' '-o'; do
	status=0
	# shellcheck disable=SC2086
	"$dissect" $usage >"$TMP/said" 2>&1 || status=$?
	equal $status 2 "$usage: $(cat "$TMP/said")"
done
# says_only STATUS LINE COMMAND...: the command fails, with no other output.
says_only() {
	local status=0
	"${@:3}" >"$TMP/said" 2>&1 || status=$?
	equal "$status $(cat "$TMP/said")" "$1 organ-dissect: $2"
}
cp "$MODELS/stories260K.gguf" "$TMP/dash/.gguf"
says_only 1 "$TMP/dash/.gguf: a model needs a name before .gguf; rename the file" \
	"$dissect" "$TMP/dash/.gguf" "$TMP/nameless"
says_only 2 "$TMP/dash/.gguf is no directory: the last argument is the directory OUT" \
	"$dissect" "$MODELS/types.gguf" "$TMP/dash/.gguf"
"$dissect" --help | grep -q '^Usage: organ-dissect' || fail 'no help'
# A model without enough room takes none from the next one.
if [ "$(id -u)" = 0 ] && mkdir "$TMP/small" && mount -t tmpfs -o size=2100k none "$TMP/small"; then
	expect_fail 'No space left' "$dissect" "$MODELS/clerk-Q4_K_M.gguf" \
		"$MODELS/stories260K.gguf" "$TMP/small/out"
	absent "$TMP/small/out/clerk-Q4_K_M"
	exists "$TMP/small/out/stories260K"
	umount "$TMP/small"
fi
