# SPDX-License-Identifier: MIT
# unlisted.fish - where fish completes files for one of these commands, .base, .views and metadata of
# a mount are among them. No listing shows them, so that fish does not know them. Whatever else it
# offers for a command stays.

# Those that go on from the word at the cursor.
function __organfs_unlisted
	set -l typed (commandline -ct)
	set -l start (string replace -r '[^/]*$' '' -- $typed)
	set -l place (string unescape -- $start | string replace -r '^~/' $HOME/)
	test -e "$place.grafts"
	or return 0
	for name in .base .views metadata
		string match -q '.*' -- $name
		and not string match -q '.*' -- (string replace -r '.*/' '' -- $typed)
		and continue
		test -d "$place$name"
		and printf '%s/\n' (string unescape -- $start)$name
	end
end

for program in awk cat cd chafa cmp cp cut diff du file find getfattr grep head install less ln ls \
		md5sum more mv nano od open pushd python3 rm rsync scp sed sha256sum sort stat \
		tail tar tee test tree vim wc xxd xxhsum zip zstd
	complete -c $program -a '(__organfs_unlisted)' -d 'not listed'
end
