#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: tests programs of others
# release: needs Samba
# Samba reopens each file by descriptor, without a name: a shared model can be read and grafted
# from another machine.
. "${0%/*}/../lib.sh"

need_root
need smbd smbclient
base=$(use stories260K)
donor=$MODELS/stories260K-donor.gguf
"$GGUF" organ "$donor" blk.0.ffn_up.weight "$TMP/donor"
"$GGUF" organ "$base" blk.0.ffn_up.weight "$TMP/own"
mount_model "$base"

# The server has its own directories.
mkdir "$TMP/samba"
cat >"$TMP/smb.conf" <<END
[global]
	server role = standalone server
	interfaces = 127.0.0.1
	bind interfaces only = yes
	disable netbios = yes
	load printers = no
	printing = bsd
	printcap name = /dev/null
	map to guest = bad user
	guest account = root
	private dir = $TMP/samba
	lock directory = $TMP/samba
	state directory = $TMP/samba
	cache directory = $TMP/samba
	pid directory = $TMP/samba
	ncalrpc dir = $TMP/samba/ncalrpc
	binddns dir = $TMP/samba
	log file = $LOGS/smbd
	usershare path =
[model]
	path = $MNT
	read only = no
	guest ok = yes
	guest only = yes
	force user = root
END
smb() {
	smbclient --configfile="$TMP/smb.conf" -N -p "$port" //127.0.0.1/model -c "$1" \
		>"$TMP/said" 2>&1 </dev/null
}
is_ready() {
	smb ls || ! kill -0 $server 2>/dev/null
}
# Another process may take the port first.
for try in 1 2 3; do
	port=$(free_port)
	smbd --foreground --configfile="$TMP/smb.conf" --port="$port" >>"$LOGS/smbd.out" 2>&1 \
		</dev/null &
	server=$!
	until_true 20 is_ready || true
	! smb ls || break
	kill $server 2>/dev/null || true
	wait $server || true
done
smb ls || skip "smbd does not serve here: $(tail -n 1 "$TMP/said") $(tail -n 1 "$LOGS/smbd.out")"

# put FILE NAME: upload, and check the answer.
put() {
	smb "put $1 $2" || fail "put $2: $(cat "$TMP/said") $(cat "$MNT/.log")"
}

smb "get organs\\blk_0_ffn_up.bin $TMP/read" || fail "get: $(cat "$TMP/said")"
same "$TMP/read" "$TMP/own"
exec 5<"$MNT/organs/blk_0_ffn_up.bin"
put "$TMP/donor" 'organs\blk_0_ffn_up.bin'
until_true 60 cmp -s "$MNT/organs/blk_0_ffn_up.bin" "$TMP/donor" ||
	fail "the slot is not filled: $(cat "$MNT/.log")"
cmp - "$TMP/own" <&5 || fail 'who had it open sees something else'
exec 5<&-
grep -q '^organs/blk_0_ffn_up.bin' "$MNT/.grafts" || fail "$(cat "$MNT/.grafts")"
smb "get organs\\blk_0_ffn_up.bin $TMP/read" || fail "get: $(cat "$TMP/said")"
same "$TMP/read" "$TMP/donor"

# A new slot is made and removed; metadata become shorter and longer.
put "$TMP/donor" 'organs\blk_5_ffn_up.bin'
until_true 60 cmp -s "$MNT/organs/blk_5_ffn_up.bin" "$TMP/donor" || fail 'a new slot'
smb 'del organs\blk_5_ffn_up.bin' || fail "del: $(cat "$TMP/said")"
absent "$MNT/organs/blk_5_ffn_up.bin"
for name in 'x' 'the name of a model that was given by way of a network'; do
	echo "$name" >"$TMP/name"
	put "$TMP/name" 'metadata\general.name'
	until_true 60 cmp -s "$MNT/metadata/general.name" "$TMP/name" ||
		fail "a key: $(cat "$MNT/metadata/general.name") $(cat "$MNT/.log")"
done

# A file that is no organ is refused.
echo junk >"$TMP/junk"
smb "put $TMP/junk organs\\blk_1_ffn_up.bin" || true
log_comes_to_say 'blk_1_ffn_up.bin'
"$GGUF" organ "$base" blk.1.ffn_up.weight "$TMP/second"
same "$MNT/organs/blk_1_ffn_up.bin" "$TMP/second"

kill $server
wait $server || true
until_true 60 eval '! fuser -s -m "$MNT"' || fail "$(fuser -vm "$MNT" 2>&1)"
unmount_and_wait
exists "$TMP/stories260K.grafted.gguf"
