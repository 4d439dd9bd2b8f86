#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: tests programs of others
# cp -r, rsync and rm of whole directories and trees succeed: organs are grafted and removed,
# metadata change only by name, and writes to files that show the model's state are ignored.
. "${0%/*}/../lib.sh"

need rsync
base=$(use stories260K)
donor=$TMP/donor
mkdir "$donor" "$TMP/cwd"
cd "$TMP/cwd"
mount_model -o noassemble "$base"
mount_model -o noassemble "$(use stories260K-donor)" "$donor"
echo 'another name' >"$donor/metadata/general.name"
n=$(ls "$MNT/organs" | grep -c 'bin$')

well() {
	"$@" >"$TMP/.said" 2>&1 || fail "$*: $(head -n 5 "$TMP/.said")"
	[ ! -s "$TMP/.said" ] || fail "$* says: $(head -n 5 "$TMP/.said")"
}

grafts() {
	cut -f 1,2 "$MNT/.grafts" | sed 's,/[^\t]*,,' | sort | uniq -c | tr -s ' \t' ' '
}

undo() {
	well cp -r "$MNT/.base/." "$MNT/"
	equal "$(cat "$MNT/.grafts")" '' "$1"
}

is_donors() {
	for class in embed norm organs skeleton; do
		diff -r "$donor/$class" "$MNT/$class" || fail "$class is not the donor's after $1"
	done
	! grep -q '^metadata' "$MNT/.grafts" || fail "$1 changes $(grep ^metadata "$MNT/.grafts")"
	equal "$(cat "$MNT/.assemble")" "$unassembled" ".assemble after $1"
	equal "$(ls -A "$TMP/cwd" "$MNT" | grep -c grafted)" 0 "models assembled by $1"
}

unassembled=$(cat "$MNT/.assemble")
differ "$donor/metadata/general.name" "$MNT/metadata/general.name"

# A whole tree is copied, with its .assemble.
for tool in 'cp -r' 'rsync -a' 'rsync -a --inplace' 'cp -a'; do
	well $tool "$donor/." "$MNT/"
	is_donors "$tool"
	undo "the way back from $tool"
done
well cp -r "$donor/"* "$MNT/"
is_donors 'cp -r of all that is listed'
undo 'the way back from cp -r of all that is listed'
for text in 'assembled: x: 5 bytes' 'failed: x: no' 'assembling: 3 %: x'; do
	echo "$text" >"$MNT/.assemble"
done
equal "$(cat "$MNT/.assemble")" "$unassembled" '.assemble'
equal "$(ls -A "$TMP/cwd")" '' 'files that were assembled'
log_says 'model.gguf: .*discarded'
echo x >"$MNT/manifest.json"
grep -q general.name "$MNT/manifest.json" || fail 'a manifest that was written to'
equal "$(ls -A "$MNT" | grep -c '\.manifest')" 0 'files beside the manifest'

# Metadata named in the command are copied.
well cp "$donor/metadata/general.name" "$MNT/metadata/"
same "$donor/metadata/general.name" "$MNT/metadata/general.name"
undo 'the way back from metadata'
well cp -r "$donor/metadata" "$MNT/"
same "$donor/metadata/general.name" "$MNT/metadata/general.name"
undo 'the way back from all of metadata'

# rm removes everything in a class; θ files go with their organs.
well rm "$MNT/organs/"*
equal "$(ls "$MNT/organs")" '' 'files after rm'
equal "$(grafts)" " $n organs removed" 'grafts after rm'
well cp -r "$MNT/.base/organs" "$MNT/"
equal "$(cat "$MNT/.grafts")" '' 'grafts after the base is copied back'
equal "$(ls "$MNT/organs" | grep -c theta)" "$n" 'θ files that are back'
# The second copy goes onto existing files.
well cp -r "$MNT/.base/organs" "$MNT/"
equal "$(cat "$MNT/.grafts")" '' 'grafts after the base is copied on itself'

# A removed class directory exists again, as another directory for a process in the old one.
expect_fail 'not empty' rmdir "$MNT/organs"
equal "$(grafts)" '' 'grafts after rmdir'
exec 9<"$MNT/organs"
for i in 1 2; do
	well rm -r "$MNT/organs"
	equal "$(ls "$MNT/organs")" '' 'files after rm -r'
	equal "$(grafts)" " $n organs removed" 'grafts after rm -r'
	expect_fail 'exists' mkdir "$MNT/organs"
	well mkdir -p "$MNT/organs"
	well cp -r "$donor/organs" "$MNT/"
	diff -r "$donor/organs" "$MNT/organs" || fail 'not all of the donor'
	exists "$MNT/organs/.theta"
done
exec 9<&-
undo 'the way back from rm -r'
# Generated files stay.
expect_fail 'not permitted' rm -rf "$MNT/"*
exists "$MNT/model.gguf"
exists "$MNT/metadata/general.name"
unmount_and_wait
unmount_and_wait "$donor"
