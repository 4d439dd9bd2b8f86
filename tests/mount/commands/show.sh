#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# organfs --show prints the picture in a terminal, of a model, a mount, one of several, or a class,
# with grafts and verdict, in the terminal's width, in colour if wanted.
. "${0%/*}/../lib.sh"

need python3
unset NO_COLOR CLICOLOR_FORCE COLORTERM COLORFGBG COLUMNS
export LC_ALL=C.UTF-8 TERM=xterm-256color
ESC=$(printf '\033')

show() {
	"$ORGANFS" --show "$@" >"$TMP/shown" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
	[ ! -s "$TMP/err" ] || fail "it says $(cat "$TMP/err")"
}
says() {
	grep -qF -- "$1" "$TMP/shown" || fail "no \"$1\" in $(cat "$TMP/shown")"
}
says_not() {
	! grep -qF -- "$1" "$TMP/shown" || fail "\"$1\" in $(cat "$TMP/shown")"
}
# No line exceeds that many columns.
fits() {
	local widest
	widest=$(sed "s/$ESC\[[0-9;]*m//g" "$TMP/shown" | wc -L)
	[ "$widest" -le "$1" ] || fail "$widest columns in place of $1: $(cat "$TMP/shown")"
}

base=$(use scribe-Q4_K_M)
clerk=$(use clerk-Q4_K_M)
mkdir "$TMP/donor" "$TMP/several" "$TMP/parts"
mount_model -o noassemble,merged=q8_0 "$base"
mount_model -o ro "$clerk" "$TMP/donor"

# A model and its mount without a graft give the same.
show "$base"
says 'llama, blocks 0-5, 57 tensors'
says 'θ mean 36.33° over 57 tensors'
grep -q '^attn_norm  *34\.8 ' "$TMP/shown" || fail "$(cat "$TMP/shown")"
says_not "$ESC"
sed '/^verdict/,$d' "$TMP/shown" >"$TMP/model"
show "$MNT"
sed '/^verdict/,$d' "$TMP/shown" | diff "$TMP/model" - || fail 'the mount shows something else'
fits 80

# Changes are listed.
cp "$TMP"/donor/organs/blk_[1-4]_ffn_*.bin "$MNT/organs/"
cp "$TMP/donor/organs/blk_5_ffn_down.bin" "$MNT/organs/blk_1_ffn_down.bin"
cp "$TMP/donor/norm/blk_5_attn_norm.bin" "$MNT/norm/blk_6_attn_norm.bin"
cp "$TMP/donor/skeleton/blk_1_attn_q.bin" "$TMP/parts/"
cp "$TMP/parts/blk_1_attn_q.bin" "$MNT/skeleton/"
rm "$MNT/skeleton/blk_3_attn_v.bin"
"$LORA" make "$base" "$TMP/a.gguf" 'blk.5.attn_k.weight' --seed a
ln -s "$TMP/a.gguf" "$MNT/adapters/a.gguf"
echo 'a name' >"$MNT/metadata/general.name"
show "$MNT"
fits 80
says 'llama, blocks 0-6, 57 tensors'
says 'a 13 from clerk-Q4_K_M: attn_norm 6; ffn_gate ffn_up ffn_down 1-4'
says 'b 1 from parts/: attn_q 1'
says '/ 1 removed: attn_v 3'
says '+ 1 added: attn_norm 6'
says 'A 2 of another type than the base: attn_k 5; ffn_down 1'
says '& 1 merged with adapters: attn_k 5'
says '* adapters/a.gguf, adapter of scale 1, changes 1 tensor'
says '* metadata/general.name edited'
says 'verdict impossible: '
says '  impossible complete: '
grep -Eq '^ffn_down .* [0-9.]+A ' "$TMP/shown" || fail "no capital: $(cat "$TMP/shown")"
grep -Eq '^attn_v .* //// ' "$TMP/shown" || fail "not removed: $(cat "$TMP/shown")"
grep -Eq '^attn_norm .*a\+' "$TMP/shown" || fail "not added: $(cat "$TMP/shown")"
# theta.svg has the same changes, and that of .base has none.
for text in '13 cells from clerk-Q4_K_M' '1 cell from parts/' '1 removed' '1 added' \
	'2 of another type than the base' '1 merged with adapters'; do
	grep -qF ">$text</text>" "$MNT/theta.svg" || fail "no $text in theta.svg"
	! grep -qF ">$text</text>" "$MNT/.base/theta.svg" || fail "$text in that of the base"
done
mkdir "$TMP/plain"
mount_model -o ro "$base" "$TMP/plain"
same "$MNT/.base/theta.svg" "$TMP/plain/theta.svg"
unmount_and_wait "$TMP/plain"
equal "$(stat -c %s "$MNT/.base/theta.svg")" "$(wc -c <"$MNT/.base/theta.svg")" 'size in .base'

# A class can be shown alone.
show "$MNT/organs/"
says ffn_down
says_not "attn_q  "

# Colours appear in a terminal or if forced; not with NO_COLOR.
CLICOLOR_FORCE=1 show "$MNT"
says "$ESC[38;5;"
says_not "$ESC[38;2;"
CLICOLOR_FORCE=1 COLORTERM=truecolor show "$MNT"
says "$ESC[38;2;"
CLICOLOR_FORCE=1 NO_COLOR=1 show "$MNT"
says_not "$ESC"
# pty COLUMNS: run in a terminal of that width.
pty() {
	python3 - "$ORGANFS" "$MNT" "$1" >"$TMP/shown" <<-'END'
		import fcntl, os, pty, struct, sys, termios
		pid, fd = pty.fork()
		if pid == 0:
		    size = struct.pack("4H", 24, int(sys.argv[3]), 0, 0)
		    fcntl.ioctl(0, termios.TIOCSWINSZ, size)
		    os.execv(sys.argv[1], [sys.argv[1], "--show", sys.argv[2]])
		text = b""
		while True:
		    try:
		        more = os.read(fd, 65536)
		    except OSError:
		        break
		    if not more:
		        break
		    text += more
		os.waitpid(pid, 0)
		sys.stdout.buffer.write(text.replace(b"\r\n", b"\n"))
	END
}
for columns in 44 60 120; do
	pty $columns
	says "$ESC[38;5;"
	fits $columns
done
COLUMNS=50 show "$MNT"
fits 50

# Without UTF-8 the output is ASCII.
LC_ALL=C show "$MNT"
says 'theta mean'
! LC_ALL=C grep -q '[^ -~]' "$TMP/shown" || fail "not ASCII: $(cat "$TMP/shown")"

# A graft that cannot be read is named.
ln -sf "$TMP/nowhere.bin" "$MNT/organs/blk_2_ffn_up.bin"
expect_fail 'organs/blk_2_ffn_up\.bin: broken link, \.log says why' "$ORGANFS" --show "$MNT"

# Several models can be shown, all or one.
cp "$base" "$TMP/several/one.gguf"
cp "$clerk" "$TMP/several/two.gguf"
unmount_and_wait
mount_model -o ro "$TMP/several"
show "$MNT"
equal "$(grep -c '^verdict' "$TMP/shown")" 2 'models'
show "$MNT/two"
equal "$(head -n 1 "$TMP/shown")" two
unmount_and_wait
unmount_and_wait "$TMP/donor"

# Names in error messages are escaped, so that no terminal obeys them.
odd=$TMP/several/$(printf 'o\033[2Jdd\302\233')
mkdir -p "$odd/.base/metadata"
touch "$odd/.table" "$odd/.grafts" "$odd/.check"
expect_fail 'dd.*/.table:.*there is no table' "$ORGANFS" --show "$odd"
# A FIFO blocks nothing, and a large file fills no memory.
rm "$odd/.table"
mkfifo "$odd/.table"
expect_fail '.table: Invalid argument' in_time 20 "$ORGANFS" --show "$odd"
rm "$odd/.table"
truncate -s 1T "$odd/.table"
expect_fail '.table: File too large' in_time 20 "$ORGANFS" --show "$odd"
for text in "$odd" "$TMP/several"; do
	! "$ORGANFS" --show "$text" 2>"$TMP/err" || fail 'an empty table is shown'
	! grep -q -e "$ESC" -e "$(printf '\302\233')" "$TMP/err" || fail "$(cat -v "$TMP/err")"
done
rm -r "$odd"

expect_fail 'no such file' "$ORGANFS" --show "$TMP/nothing"
expect_fail 'models in this directory' "$ORGANFS" --show "$TMP/several"
expect_fail 'standard output: No space left' sh -c '"$1" --show "$2" >/dev/full' sh \
	"$ORGANFS" "$base"
