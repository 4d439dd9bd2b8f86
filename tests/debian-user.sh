# SPDX-License-Identifier: MIT
# debian-user.sh ARCHIVE PACKAGE... - the steps of a new user, in the system of tests/debian, which
# sources this file. The commands of README.md, word for word, lead from the source archive to a
# graft and back; then each Debian PACKAGE is installed and purged. Neither leaves anything.

# The first session in README.md.
tour() {
	awk '/^## / { exit } sub(/^ *\$ /, "")' "$top/README.md"
}

# List every file that belongs to neither a user nor a running program.
snapshot() {
	local dir not=()
	for dir in home tmp run dev proc sys var/cache var/log var/lib/apt var/lib/dpkg; do
		not+=(-path "./$dir" -prune -o)
	done
	(cd "$system" && find . "${not[@]}" -printf '%p %y %m %l\n' | sort) >"$1"
}

nothing_left() {
	snapshot "$work/after"
	diff "$work/before" "$work/after" >>"$log" || fail "$1 leaves something behind"
}

# Run the commands of README.md on installing, without those for others or for later.
install_from_source() {
	local command
	readme_says 'sudo make demo' make 'sudo make install'
	grep -Fq 'sudo make uninstall' "$top/README.md" ||
		fail 'README.md does not say how to uninstall'
	while IFS= read -r command <&3; do
		case $command in
		'sudo make check' | 'make deb' | 'make rpm' | 'make image') continue ;;
		'sudo make uninstall') continue ;;
		'sudo make install') snapshot "$work/before" ;;
		esac
		as user "cd organfs-*/ && $command"
	done 3< <(commands)
}

# One command is refused, as README.md says.
take_the_tour() {
	local model home=$system/home/user
	tour >"$home/tour.sh"
	mkdir "$home/tour"
	for model in scribe clerk; do
		cp "$top/tests/models/$model-Q4_K_M.gguf" "$home/tour/$model.gguf"
	done
	chown -R --reference="$home" "$home/tour"
	as user 'cd tour && bash -x ../tour.sh'
	[ "$(ls "$home/tour")" = $'clerk.gguf\nscribe.gguf\nscribe.grafted.gguf' ] ||
		fail "the session leaves $(ls "$home/tour")"
	cmp "$home/tour/scribe.gguf" "$top/tests/models/scribe-Q4_K_M.gguf" ||
		fail 'the base has changed'
	! cmp -s "$home/tour/scribe.gguf" "$home/tour/scribe.grafted.gguf" || fail 'no graft'
	as user 'cd tour && mkdir shared &&
		sudo mount -t organfs -o ro,allow_other "$PWD/scribe.gguf" shared &&
		ls shared && sudo umount shared && rmdir shared'
}

# Install as a user without sudo.
install_at_home() {
	local home=$system/home/user
	as user 'cd organfs-*/ && make install PREFIX=$HOME/.local'
	as user '.local/bin/organfs -o ro tour/scribe.gguf mnt && ls mnt && fusermount3 -u mnt'
	as user 'cd organfs-*/ && make uninstall PREFIX=$HOME/.local'
	[ -z "$(find "$home/.local" ! -type d)" ] || fail "left: $(find "$home/.local" ! -type d)"
}

install_package() {
	cp "$1" "$system/tmp/organfs.deb"
	snapshot "$work/before"
	as root 'apt-get install -q -y --no-install-recommends /tmp/organfs.deb'
	as user 'organfs tour/scribe.gguf mnt && cd mnt/organs &&
		cp blk_1_ffn_up.bin blk_2_ffn_up.bin && cd && umount mnt &&
		rm tour/scribe.grafted-2.gguf'
	as root 'apt-get purge -q -y organfs'
	nothing_left 'the package'
}

cp "$1" "$system/home/user/"
as user 'tar xf organfs-*.tar.gz'
install_from_source
take_the_tour
as user 'cd organfs-*/ && sudo make uninstall'
nothing_left 'make uninstall'
install_at_home
shift
for package; do
	install_package "$package"
done
echo "a new user of $release: README.md leads to a graft, and nothing is left ($SECONDS s)"
