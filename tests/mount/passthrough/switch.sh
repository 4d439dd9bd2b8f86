#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# Eight readers compare every byte, by read() and by maps, while grafts, undos and assemblies
# change the read mode of model.gguf: each sees one whole state, however often it is passed through
# or read from a snapshot.
. "${0%/*}/../lib.sh"
need_passthrough

mount_image xfs 600 "$TMP/disk"
"$GGUF" synth "$TMP/disk/base.gguf" --tensors 40 --vocab 1000 --size 24M --fill
mount_model -o "noassemble,layer=$TMP/disk/layer" "$TMP/disk/base.gguf"
cp "$MNT/organs/blk_1_ffn_up.bin" "$TMP/up"
cp "$MNT/model.gguf" "$TMP/plain.gguf"
cp "$TMP/up" "$MNT/organs/blk_2_ffn_up.bin"
cp "$MNT/model.gguf" "$TMP/grafted.gguf"
differ "$TMP/plain.gguf" "$TMP/grafted.gguf"
cp "$MNT/.base/organs/blk_2_ffn_up.bin" "$MNT/organs/"
same "$MNT/model.gguf" "$TMP/plain.gguf"

: >"$TMP/rounds"
python3 - "$MNT/model.gguf" "$TMP/rounds" "$TMP/plain.gguf" "$TMP/grafted.gguf" \
	>"$TMP/ways" <<'END' &
import collections, hashlib, mmap, os, sys, threading
path, rounds, *states = sys.argv[1:]
known = {hashlib.sha256(open(state, "rb").read()).digest() for state in states}
ways, wrong = collections.Counter(), []
progress = open(rounds, "ab", buffering=0)

def seen():
    return min(ways["passthrough"], ways["snapshot"]) >= 8

def reader(maps):
    while not seen() and not wrong:
        try:
            with open(path, "rb", buffering=0) as file:
                way = os.getxattr(file.fileno(), "user.organfs.read").decode()
                if maps:
                    data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
                else:
                    parts = []
                    while part := file.read(1 << 18):
                        parts.append(part)
                    data = b"".join(parts)
                if hashlib.sha256(data).digest() not in known:
                    wrong.append(f"{way}: bytes of no state, {'map' if maps else 'read'}")
                ways[way] += 1
                progress.write(b".")
        except OSError as error:
            wrong.append(str(error))

threads = [threading.Thread(target=reader, args=(i % 2 == 0,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*wrong, *(f"{way}={n}" for way, n in ways.items()), sep="\n")
sys.exit(bool(wrong))
END
readers=$!
# A reader finishes, or all have read enough.
is_read_again() {
	[ "$(stat -c %s "$TMP/rounds")" -gt "$before" ] || is_gone $readers
}
read_again() {
	before=$(stat -c %s "$TMP/rounds")
	until_true 60 is_read_again || late 'nothing is read to its end'
}
while kill -0 $readers 2>/dev/null; do
	cp "$TMP/up" "$MNT/organs/blk_2_ffn_up.bin"
	read_again
	echo "$TMP/disk/out.gguf" >"$MNT/.assemble"
	same "$TMP/disk/out.gguf" "$TMP/grafted.gguf"
	read_again
	echo all >"$MNT/.undo" 2>/dev/null || cp "$MNT/.base/organs/blk_2_ffn_up.bin" "$MNT/organs/"
	read_again
done
wait $readers || fail "readers: $(cat "$TMP/ways")"
unmount_and_wait
umount "$TMP/disk"
