#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: sanitizers need memory of their own
# release: takes memory and time
# The daemon's own memory stays under 64 MB with many compressed grafts and many readers.
# alone
. "${0%/*}/../lib.sh"

# 1,000 organs of slightly over a frame in F32, zeros with some numbers: sparse on disk.
base=$TMP/base.gguf
python3 - "$base" <<'END'
import struct, sys
def string(s): return struct.pack('<Q', len(s)) + s.encode()
infos, size = b'', 4 * 1024 * 300
for i in range(1000):
    infos += string(f'blk.{i}.ffn_up.weight') + struct.pack('<IQQIQ', 2, 1024, 300, 0, i * size)
head = b'GGUF' + struct.pack('<IQQ', 3, 1000, 1) + string('general.architecture')
head += struct.pack('<I', 8) + string('llama') + infos
head += bytes(-len(head) % 32)
with open(sys.argv[1], 'wb') as f:
    f.write(head)
    f.truncate(len(head) + 1000 * size)
END
mount_model -o "layer=$TMP/layer" "$base"
mnt=$MNT python3 - <<'END'
import os
mnt = os.environ['mnt']
organ = bytearray(open(f'{mnt}/organs/blk_0_ffn_up.bin', 'rb').read())
for i in range(1000):
    organ[2000:2008] = (i + 1).to_bytes(8, 'little')
    organ[1100000:1100008] = (i + 1).to_bytes(8, 'little')
    with open(f'{mnt}/organs/blk_{i}_ffn_up.bin', 'wb') as f:
        f.write(organ)
END
equal "$(layer_sql "$TMP/layer" "SELECT count(*) FROM blob WHERE form = 'zstd'")" 1000 \
	'compressed grafts'
unmount_and_wait
mount_model -o "layer=$TMP/layer" "$base"
mnt=$MNT python3 - <<'END'
import concurrent.futures, os
mnt = os.environ['mnt']
def check(i):
    i = i * 7 % 1000
    with open(f'{mnt}/organs/blk_{i}_ffn_up.bin', 'rb') as f:
        data = f.read()
    assert data[2000:2008] == data[1100000:1100008] == (i + 1).to_bytes(8, 'little'), i
with concurrent.futures.ThreadPoolExecutor(32) as pool:
    list(pool.map(check, range(2000)))
END
cat "$MNT/model.gguf" >/dev/null
cat "$MNT"/organs/blk_1?_ffn_up.theta >/dev/null
resident=$(awk '/^RssAnon/ { print $2 }' "/proc/${DAEMON[$MNT]}/status")
[ "$resident" -lt 65536 ] || fail "$resident KiB resident"
unmount_and_wait
