#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A split model is mounted by the URL of any of its shards, if all exist.
. "${0%/*}/../lib.sh"

mkdir -p "$TMP/www" "$TMP/cwd"
"$GGUF" split "$MODELS/scribe-Q4_K_M.gguf" "$TMP/www/scribe" 3
serve_ranges
cd "$TMP/cwd"
mkdir "$TMP/files"
mount_model -o ro "$TMP/www/scribe-00001-of-00003.gguf" "$TMP/files"
for no in 1 3; do
	mount_model "$URL/signed/scribe-0000$no-of-00003.gguf?download=true"
	same "$MNT/model.gguf" "$TMP/files/model.gguf"
	same "$MNT/.table" "$TMP/files/.table"
	unmount_and_wait
done

mount_model "$URL/good/scribe-00002-of-00003.gguf"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
cp "$MNT/model.gguf" "$TMP/chimera"
unmount_and_wait
same scribe.grafted.gguf "$TMP/chimera"

# No file of the mount, no list and no output has a password or token.
leaks() {
	grep -rlaE 'pass(%20| )word|sesame' "$@"
}
host=${URL#http://}
mount_model -o "lineage,layer=$TMP/layer,output=$TMP/cwd/out.gguf" \
	"http://me:pass%20word@$host/secret/scribe-00002-of-00003.gguf?token=sesame"
cp "$MNT/organs/blk_1_ffn_up.bin" "$MNT/organs/blk_2_ffn_up.bin"
for file in manifest.json .report.json .grafts .recipe .log .check .theta; do
	exists "$MNT/$file"
	cat "$MNT/$file" >"$TMP/kept$file"
done
cp -r "$MNT/metadata" "$TMP/kept-metadata"
! getfattr -R -d -m - "$MNT" 2>/dev/null | leaks - || fail 'a password is in an attribute'
grep -qF "$URL/secret/scribe-00001-of-00003.gguf" "$TMP/keptmanifest.json" ||
	fail 'no base in manifest.json'
unmount_and_wait
exists "$TMP/cwd/out.gguf"
! leaks "$TMP"/kept* "$TMP/layer" "$TMP/cwd" "$LOGS" "$XDG_STATE_HOME" || fail 'a password is kept'

# All shards exist, but have fewer tensors than they claim.
"$GGUF" split "$MODELS/scribe-Q4_K_M.gguf" "$TMP/www/less" 3
for shard in "$TMP"/www/less-*; do
	"$GGUF" edit "$shard" "$TMP/edited" split.tensors.count=int32:1000
	mv "$TMP/edited" "$shard"
done
status=0
"$ORGANFS" "$URL/good/less-00001-of-00003.gguf" "$MNT" 2>"$TMP/.said" || status=$?
equal $status 1 'exit status without a tensor'
grep -q 'the shards should have .* tensors together' "$TMP/.said" || fail "$(cat "$TMP/.said")"

mv "$TMP/www/scribe-00003-of-00003.gguf" "$TMP/"
status=0
"$ORGANFS" "$URL/good/scribe-00001-of-00003.gguf" "$MNT" 2>"$TMP/.said" || status=$?
equal $status 1 'exit status without a shard'
grep -q 'scribe-00003-of-00003.gguf: .*404' "$TMP/.said" || fail "$(cat "$TMP/.said")"
unmount_and_wait "$TMP/files"
end_server
