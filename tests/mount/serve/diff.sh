#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: its clients are scripts and programs of others
# organ-serve reads and writes nothing outside of the mount: links in .diff lead there.
. "${0%/*}/../lib.sh"

need jq
mkdir "$TMP/two" "$TMP/models"
mount_model -o noassemble "$(use scribe-Q4_K_M)" "$TMP/two"
cp "$TMP/two/organs/blk_2_ffn_up.bin" "$TMP/organ"
cp "$TMP/two/.base/organs/blk_1_ffn_up.bin" "$TMP/two/organs/blk_4_ffn_up.bin"
outside=$(checksum "$TMP/two/model.gguf")
grafts=$(cat "$TMP/two/.grafts")
# is_closed PREFIX: no method follows a link out of that model's .diff.
is_closed() {
	local diff=$URL$1.diff url method to=/$1.diff/two.gguf/organs/blk_3_ffn_up.bin
	local lock='<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>
		<D:locktype><D:write/></D:locktype></D:lockinfo>'
	status 403 "$diff/file.gguf"
	status 403 -I "$diff/file.gguf"
	status 403 "${diff%diff}%64iff/file.gguf"
	status 403 "${json[@]}" "$diff/two.gguf/organs/blk_2_ffn_up.bin"
	equal "$(jq -r .error "$TMP/answer")" 'What a link in .diff leads to is not of this mount.'
	status 403 -T "$TMP/organ" "$diff/two.gguf/organs/blk_3_ffn_up.bin"
	status 403 -T "$TMP/organ" "$URL$1organs/..%2f.diff/two.gguf/organs/blk_3_ffn_up.bin"
	status 403 -X PUT -d '' "$diff/two.gguf/.assemble"
	for url in "$diff/two.gguf/organs/blk_4_ffn_up.bin" \
		"${diff%diff}%64iff/two.gguf/organs/"; do
		status 403 -X PROPFIND -H 'Depth: 0' "$url"
		status 403 -X MKCOL "${url}new"
		status 403 -X LOCK -H 'Content-Type: text/xml' -d "$lock" "${url}new"
		status 403 -X DELETE "$url"
		status 403 -X DELETE -H 'User-Agent: rclone/1' "$url"
		for method in COPY MOVE; do
			status 403 -X $method -H "Destination: ${URL}$1organs/blk_3_ffn_up.bin" \
				"$url"
		done
	done
	for url in organs/blk_2_ffn_up.bin .base/organs/blk_2_ffn_up.bin; do
		status 403 -X COPY -H "Destination: $to" "$URL$1$url"
		status 403 -X COPY -H "Destination: ${URL%/}$to" "$URL$1$url"
	done
	status 403 -X MOVE -H "Destination: $to" "$URL$1organs/blk_2_ffn_up.bin"
	status 400 -X COPY -H "Destination: ${to%/*}" "$URL$1organs/"
	status 400 -X COPY -H "Destination: $to" "$URL.models/clerk/organs/blk_2_ffn_up.bin"
	status 200 "$diff/base"
	status 200 "$diff/two.tsv"
}
json=(-H 'Accept: application/json')
cp "$MODELS/clerk-Q4_K_M.gguf" "$TMP/models/clerk.gguf"

# One model.
mount_model -o noassemble "$(use clerk-Q4_K_M)"
ln -s "$TMP/clerk-Q4_K_M.gguf" "$MNT/.diff/file.gguf"
ln -s "$TMP/two" "$MNT/.diff/two.gguf"
serve --models "$TMP/models" "$MNT"
status 201 -d clerk.gguf "$URL.models"
is_closed ''
status 201 -X COPY -H 'Destination: /organs/blk_7_ffn_up.bin' "${URL}.base/organs/blk_2_ffn_up.bin"
unmount_served

# Several models.
cp "$MODELS/stories260K.gguf" "$TMP/models/story.gguf"
mount_model -o noassemble "$TMP/models"
ln -s "$TMP/clerk-Q4_K_M.gguf" "$MNT/clerk/.diff/file.gguf"
ln -s "$TMP/two" "$MNT/clerk/.diff/two.gguf"
serve --models "$TMP/models" "$MNT"
status 201 -d clerk.gguf "$URL.models"
is_closed clerk/
status 201 -X COPY -H 'Destination: /clerk/organs/blk_7_ffn_up.bin' \
	"${URL}clerk/.base/organs/blk_2_ffn_up.bin"
unmount_served

# .diff is listed, but the targets of its links are not.
mount_model -o noassemble "$(use clerk-Q4_K_M)"
ln -s "$TMP/clerk-Q4_K_M.gguf" "$MNT/.diff/file.gguf"
ln -s "$TMP/two" "$MNT/.diff/two.gguf"
serve --read-only "$MNT"
for url in "$URL.diff/two.gguf" "$URL.diff/file.gguf" "$URL.diff"; do
	curl -s -X PROPFIND -H 'Depth: 1' "$url" >"$TMP/answer"
	! grep -E 'organs|model.gguf' "$TMP/answer" ||
		fail "PROPFIND of $url tells of another mount"
	! grep "$(stat -c '%s<' "$TMP/clerk-Q4_K_M.gguf")" "$TMP/answer" ||
		fail "PROPFIND of $url tells of the file"
done
status 200 "$URL.diff/base"
unmount_served

equal "$(checksum "$TMP/two/model.gguf")" "$outside"
equal "$(cat "$TMP/two/.grafts")" "$grafts"
equal "$(find "$TMP/two" -name '*new' -o -name '.organ-serve*')" ''
unmount_and_wait "$TMP/two"
