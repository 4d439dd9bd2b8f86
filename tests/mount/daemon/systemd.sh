#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The units, checked by systemd and run in a user's session.
# timeout: 300
. "${0%/*}/../lib.sh"

need systemd-analyze systemctl systemd-escape
with_mount_helper
with_ordinary_user
units=$here/../../mount-helpers
export XDG_RUNTIME_DIR=$TMP/run HOME=$TMP/home
unset XDG_STATE_HOME XDG_CONFIG_HOME DBUS_SESSION_BUS_ADDRESS
mkdir -p "$TMP/run" "$HOME/models" "$HOME/.config/organfs" \
	"$HOME/.config/systemd/user/organfs@.service.d"
chmod 700 "$TMP/run"
chown "$ORDINARY" "$TMP/run"
cp "$units/organfs@.service" "$HOME/.config/systemd/user/"
# Replace the journal, which is missing here.
printf '[Service]\nStandardError=append:%s\n' "$HOME/journal" \
	>"$HOME/.config/systemd/user/organfs@.service.d/test.conf"

# systemd-analyze is silent about valid units, and names errors of others.
verify() {
	as_user systemd-analyze --man=no "$@" >"$TMP/said" 2>&1 || fail "$*: $(cat "$TMP/said")"
	[ ! -s "$TMP/said" ] || fail "$*: $(cat "$TMP/said")"
}
# Make copies that the user can read.
cp "$units/organfs@.service" 'organfs@some\x20model.service'
cp "$units"/examples/srv-models-scribe.* .
verify --user verify "$PWD/organfs@some\\x20model.service"
verify verify "$PWD/srv-models-scribe.mount" "$PWD/srv-models-scribe.automount"

# mount(8) makes the mount of the example.
setting() {
	sed -n "s/^$1=//p" "$units/examples/srv-models-scribe.mount"
}
mkdir -p "$TMP/srv/models/scribe"
cp "$MODELS/stories260K.gguf" "$TMP/srv/models/scribe.gguf"
mount -t "$(setting Type)" -o "$(setting Options)" "$TMP$(setting What)" "$TMP$(setting Where)"
as_user cmp "$TMP$(setting Where)/model.gguf" "$TMP$(setting What)"
umount "$TMP$(setting Where)"

# Start a manager for that user, in its own process group and an environment like systemd's.
group=organfs-test-$$
hierarchies=()
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
	[ ! -e "$hierarchy/cgroup.procs" ] || hierarchies+=("$hierarchy")
done
end_session() {
	kill "$manager" 2>/dev/null || true
	until_true 20 is_gone "$manager" || kill -9 "$manager"
	for hierarchy in "${hierarchies[@]}"; do
		find "$hierarchy/$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true
	done
}
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
cp "$MODELS/stories260K.gguf" "$HOME/models/-a b\$HOME %h.gguf"
cp "$MODELS/stories260K.gguf" "$TMP/other.gguf"
chown -R "$ORDINARY:$ORDINARY" "$HOME"
(
	for hierarchy in "${hierarchies[@]}"; do
		mkdir "$hierarchy/$group" && chown -R "$ORDINARY" "$hierarchy/$group" &&
			echo "$BASHPID" >"$hierarchy/$group/cgroup.procs" || exit 1
	done
	exec setpriv --reuid "$ORDINARY" --regid "$ORDINARY" --clear-groups \
		/lib/systemd/systemd --user --log-target=console --unit=basic.target
) >"$LOGS/systemd" 2>&1 &
manager=$!
trap end_session EXIT
session() {
	as_user systemctl --user "$@"
}
is_running() {
	is_gone "$manager" || session is-active -q basic.target 2>/dev/null
}
until_true 60 is_running || late "no session: $(tail -n 1 "$LOGS/systemd")"
! is_gone "$manager" || skip "no systemd --user here: $(tail -n 1 "$LOGS/systemd")"
is() {
	equal "$(session show -P ActiveState "$unit"):$(session show -P Result "$unit")" "$1" \
		"$unit: $(session status "$unit" 2>&1)"
}

# start returns after the mount, stop after the assembly.
name='-a b$HOME %h'
unit=organfs@$(systemd-escape -- "$name").service
mnt=$HOME/organfs-mounts/$name
base=$HOME/models/$name.gguf
"$GGUF" organ "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/organ.bin"
"$GGUF" splice "$base" "$MODELS/stories260K-donor.gguf" blk.1.ffn_up.weight "$TMP/expected"
chmod 644 "$TMP/organ.bin"
session start "$unit"
is active:success
as_user cmp "$mnt/model.gguf" "$base"
as_user cp "$TMP/organ.bin" "$mnt/organs/blk_1_ffn_up.bin"
session stop "$unit"
is inactive:success
same "${base%.gguf}.grafted.gguf" "$TMP/expected"
absent "$mnt"
[ ! -s "$HOME/journal" ] || fail "it says: $(cat "$HOME/journal")"
rm "${base%.gguf}.grafted.gguf"

# stop works for a busy mount, and so does another process's unmount.
session start "$unit"
as_user cp "$TMP/organ.bin" "$mnt/organs/blk_1_ffn_up.bin"
setpriv --reuid "$ORDINARY" --regid "$ORDINARY" --clear-groups \
	sh -c 'exec sleep 60 <"$1/model.gguf"' sh "$mnt" &
user=$!
until_true 60 eval "ls -l /proc/$user/fd 2>/dev/null | grep -q model.gguf" || late 'not in use'
session stop "$unit"
is inactive:success
same "${base%.gguf}.grafted.gguf" "$TMP/expected"
kill $user
session start "$unit"
as_user fusermount3 -u "$mnt"
is_over() {
	[ "$(session show -P ActiveState "$unit")" = inactive ]
}
until_true 60 is_over || fail "$(session status "$unit")"
is inactive:success

# After a kill it is mounted anew, with the grafts.
session start "$unit"
as_user cp "$TMP/organ.bin" "$mnt/organs/blk_1_ffn_up.bin"
daemon=$(session show -P MainPID "$unit")
kill -9 "$daemon"
is_back() {
	[ "$(session show -P MainPID "$unit")" != "$daemon" ] &&
		[ -n "$(as_user cat "$mnt/.grafts" 2>/dev/null)" ]
}
until_true 60 is_back || fail "not mounted anew: $(cat "$HOME/journal")"
is active:success
session stop "$unit"
is inactive:success

# Cases: a file of settings, a missing model, an already mounted model.
printf 'MODEL=%s\nOPTIONS=ro,samples=all\n' "$TMP/other.gguf" >"$HOME/.config/organfs/x.conf"
unit=organfs@x.service
session start "$unit"
as_user findmnt -n -o OPTIONS,SOURCE "$HOME/organfs-mounts/x" |
	grep -q "^ro,.* $TMP/other.gguf\$" ||
	fail "$(findmnt "$HOME/organfs-mounts/x")"
session stop "$unit"
echo OPTIONS=ro >"$HOME/.config/organfs/x.conf"
! session start "$unit" 2>/dev/null || fail 'a model that is not there is started'
is failed:exit-code
grep -q "organfs: $HOME/models/x.gguf: No such file" "$HOME/journal" ||
	fail "$(cat "$HOME/journal")"
mkdir "$HOME/organfs-mounts/y"
chown "$ORDINARY" "$HOME/organfs-mounts/y"
as_user organfs -o ro "$TMP/other.gguf" "$HOME/organfs-mounts/y"
echo "MODEL=$TMP/other.gguf" >"$HOME/.config/organfs/y.conf"
! session start organfs@y 2>/dev/null || fail 'mounted over a mount'
grep -q 'organfs-mounts/y: something is mounted there' "$HOME/journal" ||
	fail "$(cat "$HOME/journal")"
as_user cmp "$HOME/organfs-mounts/y/model.gguf" "$TMP/other.gguf" || fail 'and took it away'
as_user umount "$HOME/organfs-mounts/y"
