#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: sanitizers need memory of their own
# Bytes read through a mount are cached once, as pages of the mount: no new pages of the base stay
# on any kernel, and the disk is not read more often.
# timeout: 240
. "${0%/*}/../lib.sh"
. "${0%/*}/memory.sh"

model_on_disk 48M
mount_model -o ro,passthrough=no "$base"
first_look

cat "$MNT/model.gguf" >/dev/null
comes_to 0 'after all of model.gguf'
[ "$("$PAGES" count "$MNT/model.gguf")" -ge $((pages * 9 / 10)) ] || fail 'the mount has no pages'
cat "$MNT"/{organs,skeleton,embed,norm}/*.bin >/dev/null
comes_to 0 'after all organs'
dd if="$MNT/model.gguf" of=/dev/null bs=1M count=3 iflag=direct status=none
comes_to 0 'after the beginning of it'
python3 - "$MNT/model.gguf" <<'END'
import mmap, os, random, sys
random.seed(7)
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
size = os.fstat(fd).st_size
buffer = mmap.mmap(-1, 1 << 20)
for i in range(200):
    os.preadv(fd, [memoryview(buffer)[:random.choice((4096, 65536, 1 << 20))]],
              random.randrange(size) // 4096 * 4096)
END
comes_to 0 'after pieces of it'
same "$MNT/model.gguf" "$base"

# Earlier pages stay, and no new ones come.
"$PAGES" drop "$base"
"$PAGES" touch "$base" 6000 1000
"$PAGES" touch "$base" 9000 1
"$PAGES" touch "$base" 11000 70
dd if="$MNT/model.gguf" of=/dev/null bs=1M iflag=direct status=none
comes_to 1071 'of which all was there'
[ "$("$PAGES" count "$base" 6000 1000)" -ge 995 ] || fail 'pages that were there are gone'
unmount_and_wait

# Kernels before 6.14 cannot drop pages by themselves, and those before 6.5 not even count them.
need strace
for refused in preadv2 preadv2,cachestat; do # strace of before Linux 6.5 knows only the first
	mount_model -o ro,passthrough=no "$base"
	first_look
	strace -f -qq -o /dev/null -p "${DAEMON[$MNT]}" -e trace="$refused" \
		-e inject="$refused":error=ENOSYS 2>"$LOGS/strace" &
	TRACER=$!
	if until_true 2 is_traced "${DAEMON[$MNT]}"; then
		cat "$MNT/model.gguf" "$MNT"/organs/*.bin | cksum >"$TMP/sum"
		comes_to 0 "where there is no $refused"
		same "$TMP/sum" <(cat "$base" "$MNT"/organs/*.bin | cksum)
	else
		grep -q 'invalid system call' "$LOGS/strace" || fail "$(cat "$LOGS/strace")"
		echo "this strace does not know $refused"
		TRACER=
	fi
	[ -z "$TRACER" ] || full_speed
	unmount_and_wait
done
umount "$TMP/disk"
