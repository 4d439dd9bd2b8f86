#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A merge's model lies on a server with a password: the next mount has it too, and of the mount's
# files only .merge has the credentials, which equals the written text.
. "${0%/*}/../lib.sh"

cd "$TMP"
mkdir www
cp "$MODELS/scribe-Q4_K_M.gguf" www/scribe.gguf
cp "$MODELS/clerk-Q4_K_M.gguf" www/clerk.gguf
serve_ranges
host=${URL#http://}
cat >m.yml <<END
merge_method: linear
parameters: {weight: 1}
models:
- model: scribe
- model: "http://me:pass%20word@$host/secret/clerk.gguf?token=sesame"
END

mount_model -o noassemble "$URL/good/scribe.gguf"
cp m.yml "$MNT/.merge" || fail "$(tail -n 1 "$MNT/.log")"
cp "$MNT/model.gguf" merged.gguf
unmount_and_wait
mount_model -o noassemble "$URL/good/scribe.gguf"
same "$MNT/model.gguf" merged.gguf
same m.yml "$MNT/.merge"
equal "$(cut -f 6 "$MNT/.grafts")" "scribe,$URL/secret/clerk.gguf"
cat "$MNT/.grafts" "$MNT/.log" "$MNT/.check" "$MNT/.recipe" "$MNT/.undo" >shown
! grep -E 'sesame|pass' shown || fail 'credentials are shown'
unmount_and_wait
end_server
