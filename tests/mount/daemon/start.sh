#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs returns when the mount is ready; the unmount at once; the daemon writes, then ends.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
donor=$(use clerk-Q4_K_M)
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$donor" blk.0.ffn_up.weight "$TMP/expected"
mount_daemon "$base" "$MNT"
pid=${DAEMON[$MNT]}
equal "$(readlink "/proc/$pid/cwd")" / 'working directory of the daemon'
for fd in 0 1 2; do
	equal "$(readlink "/proc/$pid/fd/$fd")" /dev/null "descriptor $fd of the daemon"
done
cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
unmount_and_wait
same "$TMP/scribe-Q4_K_M.grafted.gguf" "$TMP/expected"

# SIGTERM is an unmount.
mount_model "$base"
cp "$TMP/organ.bin" "$MNT/organs/blk_0_ffn_up.bin"
kill -TERM "${DAEMON[$MNT]}"
wait_daemon
! mountpoint -q "$MNT" || fail 'still mounted'
same "$TMP/scribe-Q4_K_M.grafted-2.gguf" "$TMP/expected"

# A user who unmounts as soon as organfs has returned is not told that the mount is busy.
for _ in $(seq 20); do
	mount_daemon "$base" "$MNT"
	fusermount3 -u "$MNT" || fail 'busy right after the start'
	wait_daemon
done

# A command that is told to end while its daemon begins does, and leaves no mount.
cat >"$TMP/told.py" <<'END'
import fcntl, os, signal, subprocess, sys

layer, *command, point = sys.argv[1:]


def is_mounted():
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return f" {point} " in mounts.read()


# A daemon is at work for a moment after its mount is gone.
def wait_for_layer():
    try:
        directory = os.open(layer, os.O_RDONLY)
    except FileNotFoundError:
        return
    fcntl.flock(directory, fcntl.LOCK_EX)
    os.close(directory)


met = 0
for _ in range(40):
    process = subprocess.Popen([*command, point], stdin=subprocess.DEVNULL)
    while process.poll() is None and not is_mounted():
        pass
    process.send_signal(signal.SIGTERM)
    status = process.wait()
    if status:
        met += 1
        assert status == 128 + signal.SIGTERM, status
        assert not is_mounted(), "a mount stays"
    else:
        subprocess.run(["fusermount3", "-u", point], check=True)
        wait_for_layer()
print(met)
END
layer=$TMP/layer
met=$(python3 "$TMP/told.py" "$layer" "$ORGANFS" -o noassemble,layer="$layer" "$base" "$MNT") ||
	fail 'see above'
[ "$met" -gt 0 ] || fail 'no command was told to end'
