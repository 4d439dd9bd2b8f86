#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mkdir in blocks, repeatedly as blocks come and go, by programs that open with O_EXCL and by
# others.
. "${0%/*}/../lib.sh"

need rsync python3

base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
mkdir "$TMP/donor"
mount_model -o noassemble "$base"
mount_model -o ro "$donor" "$TMP/donor"
cd "$TMP"
blocks=$MNT/blocks

# After the directory is removed, cp -r makes all files of it anew.
for turn in 1 2; do
	cp -r donor/blocks/1 "$blocks/6" || fail "turn $turn"
	rm -r "$blocks/6"
done
cp -r donor/blocks/1 "$blocks/2"
rmdir "$blocks/2/1"
cp -r donor/blocks/1 "$blocks/2"
rmdir "$blocks/2/1"
echo all >"$MNT/.undo"

# The files of a copy from a disk come in any order.
python3 - "$blocks" <<'EOF' || fail 'a θ file before its organ'
import os, sys
for block in ("2", "6"):
    directory = os.path.join(sys.argv[1], block)
    for name in os.listdir(directory) if block == "2" else []:
        os.unlink(os.path.join(directory, name))
        if len(os.listdir(directory)) == 0:
            os.rmdir(directory)
            break
    os.mkdir(directory)
    for name in sorted(os.listdir("donor/blocks/1"), reverse=True):
        with open("donor/blocks/1/" + name, "rb") as f, open(directory + "/" + name, "xb") as copy:
            copy.write(f.read())
EOF
diff -rq donor/blocks/1 "$blocks/2"
diff -rq donor/blocks/1 "$blocks/6"
rm -r "$blocks/2" "$blocks/6"
absent "$blocks/2"
echo all >"$MNT/.undo"

# A directory stays when all its files have moved away.
mkdir "$blocks/6"
mv "$blocks/1"/*.bin "$blocks/6/"
exists "$blocks/1"
mv "$blocks/6"/*.bin "$blocks/1/"
rmdir "$blocks/6"
echo all >"$MNT/.undo"
same "$MNT/model.gguf" "$base"

# rsync makes several directories before it fills them.
mkdir new
cp -r donor/blocks/1 new/6
cp -r donor/blocks/2 new/7
rsync -a new/ "$blocks/"
diff -rq new/7 "$blocks/7"
rm -r "$blocks/7" "$blocks/6"
expect_fail 'not permitted' mkdir "$blocks/7"

# A shell stays in a block's directory when one is removed there, or another block's.
(
	cd "$blocks/2"
	mkdir "$blocks/2/1"
	rmdir "$blocks/2/1"
	exists "$blocks/2"
	ls >"$TMP/listed" || fail 'the directory is gone'
)

# A process that made a directory finds all its files if it opens without O_EXCL.
python3 - "$blocks/6" <<'EOF' || fail 'a program does not find the files in its directory'
import os, subprocess, sys
directory = sys.argv[1]
os.mkdir(directory)
for organ in ("ffn_up.bin", "ffn_gate.bin"):
    subprocess.run(["cp", "donor/blocks/1/" + organ, directory], check=True)
os.stat(directory + "/ffn_up.bin")
os.stat(directory + "/ffn_up.theta")
with open("donor/blocks/1/ffn_down.bin", "rb") as organ, open(directory + "/new", "wb") as new:
    new.write(organ.read())
os.rename(directory + "/new", directory + "/ffn_down.bin")
os.stat(directory + "/ffn_down.bin")
for name in os.listdir(directory):
    os.unlink(directory + "/" + name)
os.rmdir(directory)
EOF
mkdir source
cp donor/blocks/1/*.bin source
ln -sf "$PWD/donor/blocks/0/ffn_up.bin" source/ffn_up.bin
cp -a source "$blocks/6"
equal "$(readlink "$blocks/6/ffn_up.bin")" "$PWD/donor/blocks/0/ffn_up.bin"
rm -r "$blocks/6"
# A number is a private file's name like any other.
(
	exec 5>"$blocks/2/7"
	exists "$blocks/2/7"
	rm "$blocks/2/7"
)
unmount_and_wait "$TMP/donor"
unmount_and_wait
