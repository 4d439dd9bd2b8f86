# SPDX-License-Identifier: MIT
# organfs.fish - what fish offers for organfs and the programs beside it, each of which finds it
# under its own name.

# The last of the options in the word at the cursor, which are separated by commas: its name or its
# value.
function __organfs_option_list
	set -l word (string replace -r -- '^-o' '' (commandline -ct))
	set -l list (string replace -r '[^,]*$' '' -- $word)
	set -l last (string replace -r '.*,' '' -- $word)
	set -l name (string replace -r '=.*' '=' -- $last)
	set -l value (string replace -r '^[^=]*=' '' -- $last)
	set -l offers
	switch $last
		case 'output=*' 'model=*' 'header=*' 'recipe=*'
			set offers (__fish_complete_path $value | cut -f 1)
		case 'layer=*' 'donors=*'
			set offers (__fish_complete_directories $value | cut -f 1)
		case 'compress=*'
			set offers 1 3 9 19 22 off
		case 'shape=*'
			set offers any same
		case 'blocks=*'
			set offers follow keep
		case 'merged=*'
			set offers keep q8_0 f16
		case 'type=*'
			set offers keep donor
		case 'views=*'
			set offers listed unlisted
		case 'passthrough=*' 'snapshot=*'
			set offers no yes
		case 'samples=*'
			set offers 1000 10000 100000 1000000 all
		case 'umask=*'
			set offers 000 002 022 027 077
		case 'uid=*'
			set offers 0 (id -u)
		case 'gid=*'
			set offers (id -G | string split ' ')
		case 'threads=*'
			set offers 1 4 (nproc)
		case '*'
			set name ''
			set offers ro\t'no graft, no assembly' output=\t'file that the unmount writes' \
				noassemble\t'write nothing at unmount' \
				layer=\t'keep the grafts in a directory' \
				header=\t'the header for a directory of organ files' \
				recipe=\t'carry out a copy of .recipe' \
				donors=\t'where the donors of recipes are' \
				lineage\t'the model carries its recipe' \
				compress=\t'zstd level for organs in the layer' \
				shape=any\t'accept organs of other shapes' \
				blocks=keep\t'do not let block_count follow the blocks' \
				merged=q8_0\t'merged tensors become Q8_0' merged=f16\t'merged tensors become F16' \
				type=keep\t'grafts get the types of the base' \
				views=listed\t'show .base and .views in listings' \
				passthrough=no\t'let the kernel read no file by itself' \
				snapshot=no\t'make no file for the kernel to read' \
				samples=\t'how many values theta is taken from' \
				threads=\t'how many answer requests' \
				pidfile=\t'where the process number goes' \
				uid=\t'owner of the files' gid=\t'group of the files' \
				umask=\t'mode mask' allow_other\t'let other users in' \
				allow_root\t'let root in' \
				auto_unmount\t'end the mount with a killed daemon' \
				confine\t'write in the layer and the output directory alone' \
				fresh\t'begin without grafts that were left' \
				nonempty\t'mount over what is not empty' \
				debug\t'every request to stderr' \
				rw\t'not ro' assemble\t'not noassemble' \
				noallow_other\t'not allow_other' \
				noauto_unmount\t'not auto_unmount' \
				noconfine\t'not confine' nofresh\t'not fresh' \
				nolineage\t'not lineage' \
				shape=same\t'not shape=any' merged=keep\t'merged tensors keep their type' \
				type=donor\t'not type=keep' \
				model=\t'one model more'
	end
	for offer in $offers
		printf '%s\n' $list$name$offer
	end
end

# Where organfs is mounted.
function __organfs_mounts
	for point in (awk '/ - fuse\\.organfs / { print $5 }' /proc/self/mountinfo)
		printf '%b\n' (string replace -a '\\' '\\0' -- $point)
	end
end

for program in organfs organ-stream organ-dissect organfs-open organfs-umount organ-serve
	complete -c $program -e
	complete -c $program -s h -l help -d 'print a summary'
	complete -c $program -s V -l version -d 'print the version'
end
for program in organfs organ-stream organ-dissect organfs-open
	complete -c $program -s o -x -a '(__organfs_option_list)' -d 'options of the mount'
end
for program in organfs organ-dissect organfs-open
	complete -c $program -f -a '(__fish_complete_suffix .gguf)'
end
for ending in .yml .yaml
	complete -c organfs -f -a "(__fish_complete_suffix $ending)"
end

# What is behind a tab, the size, is the description.
complete -c organfs -f -a '(organfs --models 2>/dev/null)'

complete -c organfs -s f -d 'stay in the foreground, log to stderr'
complete -c organfs -s d -d 'the same, with every request'
complete -c organfs -s s -d 'let one thread answer'
complete -c organfs -l pack -d 'write a model, such as a directory of organ files'
complete -c organfs -l unpack -d 'write a model as a directory of organ files'
complete -c organfs -l check -d 'print .check of a model, and which donors its organs are from'
complete -c organfs -l theta -d 'print .theta of a model; with --unpack, write it too'
complete -c organfs -l npy -d 'print a tensor as NumPy has it'
complete -c organfs -l quantise -r -F -d 'write a model in types of ggml that lines of a file choose'
complete -c organfs -l imatrix -r -F -d 'with --quantise, weigh by an importance matrix'
complete -c organfs -l picture -d 'print theta.svg of a model, or of two'
complete -c organfs -l diff -d 'print what differs between two models'
complete -c organfs -l models -d 'list the models of other programs'
complete -c organfs -l show -d 'show it in the terminal'
complete -c organfs -l why -r -d 'print why a file in a mount was refused'
complete -c organfs -l recipe -d 'print the recipe that a GGUF carries'
complete -c organfs -l report -d 'report on models by their tables'
complete -c organfs -l json -d 'with --report, --list, --models, --check or --theta, as JSON'
complete -c organfs -l list -d 'print your mounts'
complete -c organfs -l stop -d 'unmount, as organfs-umount'
complete -c organfs -n '__fish_contains_opt stop' -f -a '(__organfs_mounts)'
complete -c organfs -n '__fish_contains_opt stop' -l all -d 'all of your mounts'
complete -c organfs -n '__fish_contains_opt stop' -l keep -d 'write no model, keep the grafts'

complete -c organ-stream -s d -x -a '(__fish_complete_directories)' -d 'where to fetch to'
complete -c organ-dissect -l verify -d 'compare checksums too'
complete -c organfs-open -s u -l unmount -d 'unmount, and wait for the new models'

complete -c organfs-umount -f -a '(__organfs_mounts)'
complete -c organfs-umount -l all -d 'all of your mounts'
complete -c organfs-umount -l keep -d 'write no model, keep the grafts'
complete -c organfs-umount -s f -d 'by force'
complete -c organfs-umount -s l -d 'now, without waiting'
complete -c organfs-umount -s n -d 'write no mtab'
complete -c organfs-umount -s r -d 'read-only where that fails'
complete -c organfs-umount -s v -d 'say what was written'
complete -c organfs-umount -s N -x -d 'namespace'
complete -c organfs-umount -s t -x -d 'type'

complete -c organ-serve -f -a '(__organfs_mounts)'
complete -c organ-serve -l listen -x -a '127.0.0.1 ::1 0.0.0.0 ::' -d 'address'
complete -c organ-serve -l socket -r -F -d 'listen at a socket for its owner alone'
complete -c organ-serve -l password -r -F -d 'whom to let in'
complete -c organ-serve -l token -r -F -d 'keep the token in a file'
complete -c organ-serve -l no-token -d 'let in every user of this machine'
complete -c organ-serve -l cert -r -F -d 'certificate for HTTPS'
complete -c organ-serve -l key -r -F -d 'its private key'
complete -c organ-serve -l output -x -a '(__fish_complete_directories)' \
	-d 'where .assemble writes'
complete -c organ-serve -l models -x -a '(__fish_complete_directories)' \
	-d 'models and adapters for clients'
complete -c organ-serve -l read-only -d 'nothing can be changed'
