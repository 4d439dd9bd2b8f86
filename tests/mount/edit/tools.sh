#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: tests programs of others
# Tools that write beside a file and rename, or take whole directories: rsync, tar, sponge-like
# scripts, editors with backups; and files that are no organs.
. "${0%/*}/../lib.sh"

need rsync tar xxd
base=$(use stories260K)
donor=$(use stories260K-donor)
touch -d '2023-03-03 03:03:03' "$donor"
"$GGUF" splice "$base" "$donor" 'blk.*.ffn_*.weight' "$TMP/expected" ||
	fail 'no expected model'
"$GGUF" organs "$base" | cut -f 1 | grep -c '^blk\..*\.ffn_[a-z]*\.weight$' >"$TMP/n" || true
mount_model -o ro "$donor" "$TMP/donor"

# with TOOL...: mount afresh, run the tool, and check the model and that nothing is left.
with() {
	mount_model -o noassemble "$base"
	before=$(descriptors)
	"$@" || fail "$*: exit $?"
	same "$MNT/model.gguf" "$TMP/expected"
	ls -A "$MNT/organs" | sort | diff - "$TMP/listing" || fail "$* leaves something"
	for file in "$MNT"/organs/*.bin; do
		cat "$TMP/donor/organs/${file##*/}" | cmp - "$file" || fail "$file"
	done
	[ "$("$GGUF" organs "$MNT/model.gguf" | wc -l)" = "$("$GGUF" organs "$base" | wc -l)" ]
	cp "$TMP/base-organs/"*.bin "$MNT/organs/"
	kill_daemon
	rm -rf "$XDG_STATE_HOME"
}
mount_model -o ro "$base"
ls -A "$MNT/organs" | sort >"$TMP/listing"
mkdir "$TMP/base-organs"
cp "$MNT/organs/"*.bin "$TMP/base-organs/"
unmount_and_wait

theirs=$TMP/donor/organs
by_xxd() {
	local file
	for file in "$theirs"/*.bin; do
		xxd "$file" | xxd -r - "$MNT/organs/${file##*/}" || return
	done
}
# Write a map of the organ: numpy's if installed, else Python's.
by_map() {
	local python=python3
	! /usr/bin/python3 -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
	$python - "$theirs" "$MNT/organs" <<-'END'
		import glob, mmap, os, sys
		try:
		    import numpy
		except ImportError:
		    numpy = None
		for source in glob.glob(sys.argv[1] + "/*.bin"):
		    new = open(source, "rb").read()
		    path = os.path.join(sys.argv[2], os.path.basename(source))
		    if numpy:
		        values = numpy.memmap(path, "uint8", "r+")
		        values[:] = numpy.frombuffer(new, "uint8")
		        values.flush()
		        del values
		        continue
		    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as values:
		        values[:] = new
		        values.flush()
	END
}
by_open() {
	python3 - "$theirs" "$MNT/organs" <<-'END'
		import glob, os, sys
		for source in glob.glob(sys.argv[1] + "/*.bin"):
		    with open(os.path.join(sys.argv[2], os.path.basename(source)), "wb") as f:
		        f.write(open(source, "rb").read())
	END
}
in_place() {
	local file
	for file in "$theirs"/*.bin; do
		dd if="$file" of="$MNT/organs/${file##*/}" bs=4k conv=notrunc status=none
	done
}
through_tar() {
	tar -C "$TMP/donor" -c organs | tar -C "$MNT" -x
}
by_rename() {
	local file
	for file in "$theirs"/*.bin; do
		cat "$file" >"$MNT/organs/.new.$$"
		mv "$MNT/organs/.new.$$" "$MNT/organs/${file##*/}"
	done
}
with_backup() {
	local file
	for file in "$theirs"/*.bin; do # to a directory cp of coreutils 9.1 renames wrongly
		cp --backup=simple "$file" "$MNT/organs/${file##*/}"
	done
	ls "$MNT/organs" | grep -c '~$' | grep -qx "$(ls "$theirs/"*.bin | wc -l)" || return 1
	same "$MNT/organs/blk_0_ffn_up.bin~" "$TMP/base-organs/blk_0_ffn_up.bin"
	rm "$MNT"/organs/*~
}
through_python() {
	python3 - "$theirs" "$MNT/organs" <<'END'
import os, sys, tempfile
for name in os.listdir(sys.argv[1]):
    if name.endswith(".bin"):
        with tempfile.NamedTemporaryFile(dir=sys.argv[2], delete=False) as f:
            f.write(open(os.path.join(sys.argv[1], name), "rb").read())
        os.replace(f.name, os.path.join(sys.argv[2], name))
END
}
linked_into_place() {
	local file
	for file in "$theirs"/*.bin; do
		cat "$file" >"$MNT/organs/tmp" && ln -f "$MNT/organs/tmp" \
			"$MNT/organs/${file##*/}" && rm "$MNT/organs/tmp" || return 1
	done
}
with cp "$theirs"/*.bin "$MNT/organs/"
with cp -r "$TMP/donor/organs" "$MNT/"
with cp -a "$TMP/donor/organs" "$MNT/"
with cp --reflink=auto "$theirs"/*.bin "$MNT/organs/"
with install -m 600 "$theirs"/*.bin "$MNT/organs/"
with rsync -a "$theirs/" "$MNT/organs/"
with rsync -a --inplace "$theirs/" "$MNT/organs/"
with by_xxd
with by_open
with by_map

with in_place
with through_tar
with by_rename
with with_backup
with through_python
with linked_into_place

# Files beside the organs are private to the mount. Under a temporary name they may hold anything.
mount_model "$base"
echo some words >"$MNT/organs/notes~"
echo more >>"$MNT/organs/notes~"
equal "$(cat "$MNT/organs/notes~")" "$(printf 'some words\nmore')"
equal "$(stat -c %s "$MNT/organs/notes~")" 16
truncate -s 4 "$MNT/organs/notes~"
equal "$(cat "$MNT/organs/notes~")" some
mv "$MNT/organs/notes~" "$MNT/norm/4913"
absent "$MNT/organs/notes~"
equal "$(cat "$MNT/norm/4913")" some
ls "$MNT/norm" | grep -qx 4913 || fail 'not listed'
expect_fail 'not permitted' mv "$MNT/norm/4913" "$MNT/norm/blk_0_attn_norm.bin"
equal "$(cat "$MNT/norm/4913")" some

# Files under other names must be organs: a tool whose move is refused keeps the source.
touch "$MNT/organs/precious.gguf"
cp "$base" "$TMP/precious.gguf"
refused() {
	expect_fail "$@"
	same "$TMP/precious.gguf" "$base"
	log_says ' organs/precious.gguf: refused: a GGUF file, not an organ: .* lost at the unmount'
}
refused 'Invalid argument' mv "$TMP/precious.gguf" "$MNT/organs/"
until_true 60 test ! -e "$MNT/organs/precious.gguf" || fail 'the refused file is there'
refused 'not permitted' rsync --remove-source-files "$TMP/precious.gguf" "$MNT/organs/"
cp "$TMP/precious.gguf" "$MNT/organs/precious.gguf.part"
refused 'not permitted' mv "$MNT/organs/precious.gguf.part" "$MNT/organs/precious.gguf"
refused 'Invalid argument' ln "$MNT/organs/precious.gguf.part" "$MNT/organs/precious.gguf"
same "$MNT/organs/precious.gguf.part" "$base"
rm "$MNT/organs/precious.gguf.part"
absent "$MNT/organs/precious.gguf"
(head -c 99 2>/dev/null || cat) <"$MNT/organs/blk_1_ffn_up.bin" >"$MNT/organs/organ"
same "$MNT/organs/organ" "$MNT/organs/blk_1_ffn_up.bin"
cp "$MNT/organs/blk_2_ffn_up.bin" "$MNT/organs/organ"
mv "$MNT/organs/organ" "$MNT/organs/kept"
same "$MNT/organs/kept" "$MNT/organs/blk_2_ffn_up.bin"
rm "$MNT/norm/blk_0_attn_norm.theta"
absent "$MNT/norm/blk_0_attn_norm.theta"
same "$MNT/model.gguf" "$base"
equal "$(cat "$MNT/.grafts")" ''

# The unmount names the private files that end with it.
"$UMOUNT" "$MNT" 2>"$TMP/said" || fail "exit $?: $(cat "$TMP/said")"
equal "$(cat "$TMP/said")" "organfs-umount: stories260K: 2 private files gone with the mount, \
the first organs/kept; copy such files out before an unmount"
wait_daemon
for name in organs/kept norm/4913; do
	grep -q " $name: a private file, gone with the mount" "$LOGS/${MNT##*/}" ||
		fail "the log does not name $name"
done
absent "$TMP/stories260K.grafted.gguf"
unmount_and_wait "$TMP/donor"
no_litter "$XDG_STATE_HOME"
