#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: tests programs of others
# release: needs restic, borg and others
# restic and borg see an unchanged model as unchanged at the next mount: they store nothing of it,
# and read only the files that describe the current state.
# timeout: 240
. "${0%/*}/../lib.sh"

base=$(use stories260K)
export RESTIC_PASSWORD=organfs BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
export BORG_RELOCATED_REPO_ACCESS_IS_OK=yes HOME=$TMP/home BORG_BASE_DIR=$TMP/home
export XDG_CACHE_HOME=$TMP/home/.cache
mkdir "$HOME"
tools=
if command -v restic >/dev/null && command -v jq >/dev/null; then
	tools="$tools restic"
	restic -q init -r "$TMP/restic" || fail 'restic init'
fi
if command -v borg >/dev/null; then
	tools="$tools borg"
	borg init -e none "$TMP/borg" || fail 'borg init'
fi
[ -n "$tools" ] || skip 'neither restic nor borg'

restic_backup() {
	restic backup -r "$TMP/restic" --json "$MNT" >"$TMP/said" 2>&1 || fail "$(cat "$TMP/said")"
}

# Check a condition on restic's summary.
summary() {
	jq -e "select(.message_type == \"summary\") | $1" "$TMP/said" >/dev/null ||
		fail "restic: $(tail -n 1 "$TMP/said")"
}

borg_backup() {
	borg create --list --filter AME "$TMP/borg::$1" "$MNT" >"$TMP/said" 2>&1 ||
		fail "$(cat "$TMP/said")"
}

mount_model "$base"
for tool in $tools; do
	${tool}_backup first
done
unmount_and_wait
mount_model "$base"
# The order differs from the first listing's.
stat "$MNT/theta.svg" "$MNT/.theta" "$MNT/.check" "$MNT/model.gguf" "$MNT/embed/.theta" >/dev/null
for tool in $tools; do
	${tool}_backup second
	case $tool in
	restic) summary '.files_new == 0 and .files_changed <= 2 and .data_blobs == 0' ;;
	borg)
		# .log and .assemble describe the moment.
		! grep -v -E '/\.(log|assemble)$' "$TMP/said" || fail "borg reads again"
		;;
	esac
done
# A changed model is stored again.
unmount_and_wait
cp "$MODELS/stories260K-donor.gguf" "$base"
touch -d '2024-05-05 05:05:05' "$base"
mount_model "$base"
for tool in $tools; do
	${tool}_backup third
	case $tool in
	restic) summary '.files_changed > 10' ;;
	borg) grep -q '^M .*/blk_0_ffn_up.bin$' "$TMP/said" || fail "borg: $(cat "$TMP/said")" ;;
	esac
done
unmount_and_wait
