# SPDX-License-Identifier: MIT
# memory.sh - a base on a disk of its own, and its cached pages. Sourced after lib.sh.
# plain: sanitizers need memory of their own
PAGES=$here/../tools/pages.py

# model_on_disk SIZE [OPTION...]: $base of that many bytes, with options of gguf synth, and $pages
# pages, on a filesystem whose pages can be counted and dropped.
model_on_disk() {
	mount_image ext4 400 "$TMP/disk"
	base=$TMP/disk/base.gguf
	"$GGUF" synth --size "$1" --vocab 1000 "${@:2}" --fill "$base"
	pages=$((($(stat -c %s "$base") + 4095) / 4096))
	sync "$base"
	"$PAGES" drop "$base"
	[ "$("$PAGES" count "$base")" = 0 ] || skip 'pages cannot be dropped here'
}

# The first look into a mount reads the base's header, and the disk reads some more: drop these
# pages.
first_look() {
	head -c 1 "$MNT/model.gguf" >/dev/null
	ls -l "$MNT" >/dev/null
	until_true 60 is_idle || late 'the daemon does not rest'
	until_true 60 can_be_dropped || fail "$("$PAGES" count "$base") pages before"
}

# A page that is being read cannot be dropped.
can_be_dropped() {
	"$PAGES" drop "$base"
	"$PAGES" drop "$MNT/model.gguf"
	[ "$("$PAGES" count "$base")" = 0 ]
}

has_at_most() {
	[ "$("$PAGES" count "$base")" -le "$1" ]
}

# comes_to PAGES WHEN: at most that many pages of the base are cached, once the kernel has sent the
# last close.
comes_to() {
	until_true 60 has_at_most "$1" ||
		fail "$("$PAGES" count "$base") of $pages pages of the base are in memory $2"
}
