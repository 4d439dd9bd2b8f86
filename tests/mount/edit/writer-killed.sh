#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A writer killed half-way leaves the slot as it was and nothing else.
. "${0%/*}/../lib.sh"

base=$(use stories260K)
slot=$MNT/organs/blk_1_ffn_up.bin
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/good.bin"
mount_model "$base"
cp "$slot" "$TMP/before.bin"
before=$(($(descriptors) + 4)) # the first writer opens the layer
for bytes in 0 1 100 20000; do
	python3 - "$TMP/good.bin" "$slot" "$bytes" <<'END' &
import os, sys, time
f = os.open(sys.argv[2], os.O_WRONLY | os.O_TRUNC)
os.write(f, open(sys.argv[1], "rb").read()[:int(sys.argv[3])])
open("ready", "w").close()
time.sleep(100)
END
	writer=$!
	until_true 60 test -e ready || late 'the writer does not write'
	same "$slot" "$TMP/before.bin" # while the writer works
	equal "$(stat -c %s "$slot")" "$(stat -c %s "$TMP/before.bin")" 'size while it is written'
	kill -9 $writer
	wait $writer 2>/dev/null || true
	rm ready
	same "$slot" "$TMP/before.bin"
	same "$MNT/model.gguf" "$base"
done
no_leak "$before"
layer=$(echo "$XDG_STATE_HOME"/organfs/*)
equal "$(ls -A "$layer/blobs")" '' 'files in blobs'
equal "$(layer_sql "$layer" 'SELECT count(*) FROM slot UNION ALL SELECT count(*) FROM blob')" \
	$'0\n0' 'rows'
unmount_and_wait
absent "$TMP/stories260K.grafted.gguf"
no_litter "$XDG_STATE_HOME"
