#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# C1 controls (U+0080 to U+009F) and bidirectional controls from names of files and tensors and from
# metadata are escaped in all texts, pages and messages.
. "${0%/*}/../lib.sh"

cat >"$TMP/text.py" <<'PY'
import json, os, re, struct, sys
sys.path.insert(0, sys.argv[1])
import gguf

CONTROLS = "\x80\x85\x9b\x9f\u061c\u200e\u200f\u202a\u202e\u2066\u2069"
FOUND = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def make(path):
    w = gguf.Writer()
    names = [f"blk.0.ffn_up{c}31m.weight" for c in CONTROLS] + ["blk.0.ffn_up.weight"]
    entries = [("general.architecture", f"lla{CONTROLS}ma"), ("general.name", f"a{CONTROLS}b"),
               (f"my.{CONTROLS}.key", f"v{CONTROLS}")]
    w.begin(len(names), len(entries) + 1)
    for key, value in entries:
        w.entry(key.encode(), gguf.STRING, value.encode())
    w.array(b"my.list", gguf.STRING, [f"x{CONTROLS}y".encode()])
    for i, name in enumerate(names):
        w.info(name.encode(), [8], gguf.F32, i * 32)
    w.pad(32)
    for i in range(len(names)):
        w.out += struct.pack("<8f", *[i + j / 8 for j in range(8)])
    open(path, "wb").write(w.out)


def clean(name, text):
    found = FOUND.search(text.decode("utf-8", "replace"))
    if found:
        at = found.start()
        sys.exit(f"{name}: {text.decode('utf-8', 'replace')[max(0, at - 40):at + 20]!r}")


def look(mount):
    for directory, directories, files in os.walk(mount):
        for name in files + directories + [n for n in os.listdir(mount + "/metadata")]:
            clean(f"a name in {directory}", name.encode("utf-8", "surrogateescape"))
        for name in files:
            if not name.endswith((".bin", ".gguf")):
                path = os.path.join(directory, name)
                clean(path, open(path, "rb").read())
    clean("hashes", open(mount + "/.views/gguf-hash.xxh64", "rb").read())
    clean("an array", open(mount + "/metadata/my.list", "rb").read())
    if json.load(open(mount + "/metadata/my.list")) != [f"x{CONTROLS}y"]:
        sys.exit("an array does not read back")
    metadata = json.load(open(mount + "/manifest.json"))["metadata"]
    for key, value in ("general.name", f"a{CONTROLS}b"), (f"my.{CONTROLS}.key", f"v{CONTROLS}"):
        if metadata[key] != value:
            sys.exit(f"the manifest says {metadata}")


if sys.argv[2] == "make":
    make(sys.argv[3])
elif sys.argv[2] == "look":
    look(sys.argv[3])
else:
    clean(sys.argv[3], open(sys.argv[3], "rb").read())
PY

text() {
	python3 "$TMP/text.py" "$here/../tools" "$@" || fail "$*"
}

odd=$(printf 'm\302\233\330\234\342\200\256\342\201\246x')
base=$TMP/$odd.gguf
text make "$base"
mount_model -o noassemble "$base"
text look "$MNT"

# Cases: refusals, broken links, edits, a donor of that name, and the text of .assemble.
cp "$MNT/organs/blk_0_ffn_up.bin" "$TMP/$odd.bin"
echo junk >"$TMP/junk"
expect_fail 'Invalid' cp "$TMP/junk" "$MNT/organs/blk_0_ffn_up.bin"
expect_fail 'not permitted' mkdir "$MNT/$odd"
expect_fail 'not permitted' touch "$MNT/$odd.gguf"
ln -sf "$TMP/$odd/nowhere" "$MNT/organs/blk_0_ffn_up.bin"
rm "$MNT/organs/blk_0_ffn_up.bin"
touch "$TMP/$odd.bin"
cp -p "$TMP/$odd.bin" "$MNT/organs/blk_0_ffn_up.bin"
for key in "$MNT"/metadata/my.%*; do
	echo new >"$key"
done
equal "$(grep -c '^metadata/my.%C2%80%C2%85.*edited' "$MNT/.grafts")" 1 'edit of an odd key'
expect_fail 'No such file' bash -c "echo '$TMP/no/$odd' >'$MNT/.assemble'"
echo "$TMP/$odd.out" >"$MNT/.assemble" || true
for file in .log .grafts .assemble .check .theta .report.json .table theta.svg; do
	text clean "$MNT/$file"
done
unmount_and_wait
text clean "$LOGS/mnt"

# Cases: commands without a mount, and missing files.
for how in --picture --show; do
	"$ORGANFS" $how "$base" >"$TMP/out" 2>&1 || fail "$how: $(cat "$TMP/out")"
	sed 's/\x1b\[[0-9;]*m//g' "$TMP/out" >"$TMP/plain"
	text clean "$TMP/plain"
done
mount_model -o ro "$base"
cp "$MNT/.table" "$TMP/$odd.tsv"
unmount_and_wait
for json in '' --json; do
	"$ORGANFS" --report $json "$TMP/$odd.tsv" >"$TMP/out" 2>&1 || fail "$(cat "$TMP/out")"
	text clean "$TMP/out"
done
# The model was measured with other samples, as the report says.
awk -F '\t' -v OFS='\t' '$1 == "tensor" { $16 = "0.12345" } { print }' "$TMP/$odd.tsv" \
	>"$TMP/$odd-2.tsv"
"$ORGANFS" --report "$TMP/$odd.tsv" "$TMP/$odd-2.tsv" >"$TMP/out" 2>&1 ||
	fail "$(cat "$TMP/out")"
grep -q 'measured otherwise before' "$TMP/out" || fail "$(cat "$TMP/out")"
text clean "$TMP/out"
for command in "--report" "--picture" "-f"; do
	! "$ORGANFS" $command "$TMP/no-$odd" "$MNT" >"$TMP/out" 2>&1 || fail "$command of nothing"
	text clean "$TMP/out"
done
for directory in several "$odd"; do
	mkdir "$TMP/$directory"
done
cp "$base" "$MODELS/stories260K.gguf" "$TMP/several"
mount_model -o ro "$TMP/several"
text clean "$MNT/.theta"
text clean "$MNT/.report.json"
text clean "$MNT/manifest.json"
# The model's directory has the name of its file.
ls -A "$MNT" >"$TMP/names"
text clean "$TMP/names"
test -f "$MNT/m%C2%9B%D8%9C%E2%80%AE%E2%81%A6x/model.gguf" || fail "$(cat "$TMP/names")"
unmount_and_wait
# The name has no room for the escapes.
mv "$TMP/several/$odd.gguf" "$TMP/several/$(printf 'm%.0s\302\233' {1..82}).gguf"
mount_model -o ro "$TMP/several"
test -f "$MNT/$(printf 'm%.0s?' {1..82})/model.gguf" || fail "$(ls "$MNT")"
unmount_and_wait
