#compdef organfs organ-stream organ-dissect organfs-open organfs-umount organ-serve
# SPDX-License-Identifier: MIT
# organfs.zsh - what zsh offers for organfs and the programs beside it.

# Options that are separated by commas, with their values.
_organfs_option_list() {
	_values -s , option \
		'ro[no graft, no assembly]' \
		'output[file that the unmount writes]:file:_files' \
		'noassemble[write nothing at unmount]' \
		'layer[keep the grafts in a directory]:directory:_files -/' \
		'header[the header for a directory of organ files]:file:_files' \
		'recipe[carry out a copy of .recipe]:file:_files' \
		'donors[where the donors of recipes are]:directory:_files -/' \
		'lineage[the model carries its recipe]' \
		'compress[zstd level for organs in the layer]:level:(1 3 9 19 22 off)' \
		'shape[accept organs of other shapes]:shape:(any same)' \
		'blocks[does block_count follow the blocks]:manner:(follow keep)' \
		'merged[type of merged tensors]:type:(keep q8_0 f16)' \
		'type[types of grafts]:manner:(keep donor)' \
		'views[show .base and .views in listings]:manner:(listed unlisted)' \
		'passthrough[may the kernel read files by itself]:answer:(no yes)' \
		'snapshot[may files be made for the kernel to read]:answer:(no yes)' \
		'samples[how many values theta is taken from]:number:(1000 10000 100000 all)' \
		'threads[how many answer requests]:number:' \
		'pidfile[where the process number goes]:file:_files' \
		'uid[owner of the files]:number:' \
		'gid[group of the files]:number:' \
		'umask[mode mask]:mask:(000 002 022 027 077)' \
		'allow_other[let other users in]' \
		'allow_root[let root in]' \
		'auto_unmount[end the mount with a killed daemon]' \
		'confine[write in the layer and the output directory alone]' \
		'fresh[begin without grafts that were left]' \
		'nonempty[mount over what is not empty]' \
		'debug[every request to stderr]' \
		'rw[not ro]' \
		'assemble[not noassemble]' \
		'noallow_other[not allow_other]' \
		'noauto_unmount[not auto_unmount]' \
		'noconfine[not confine]' \
		'nofresh[not fresh]' \
		'nolineage[not lineage]' \
		'*model[one model more]:model:_organfs_models'
}

_organfs_models() {
	_files -g '(#i)*.gguf(-.)'
}

# A configuration of mergekit stands for a model, and so does a name in a store.
_organfs_mountable() {
	local -a names
	local expl
	names=(${(f)"$(organfs --models 2>/dev/null)"})
	names=(${names%%$'\t'*})
	_wanted stores expl 'model of another program' compadd -a names
	_files -g '(#i)*.(gguf|yml|yaml)(-.)'
}

# Where organfs is mounted.
_organfs_mounts() {
	local -a points
	points=(${(f)"$(awk '/ - fuse\.organfs / { print $5 }' /proc/self/mountinfo)"})
	# As echo has its escapes.
	points=("${(@g:o:)points}")
	_wanted mounts expl 'mount point' compadd -f -a points || _files -/
}

_organfs_program() {
	local files=_organfs_mountable
	((! ${words[(I)--report*]} + ${words[(I)--quantise]})) || files=_files
	_arguments -S \
		'-d[the same, with every request]' \
		'-f[stay in the foreground, log to stderr]' \
		'-s[let one thread answer]' \
		'(-)'{-h,--help}'[print a summary]' \
		'(-)'{-V,--version}'[print the version]' \
		'--pack[write a model, such as a directory of organ files]' \
		'--unpack[write a model as a directory of organ files]' \
		'--check[print .check of a model, and which donors its organs are from]' \
		'--theta[print .theta of a model; with --unpack, write it too]' \
		'--npy[print a tensor as NumPy has it]' \
		'--quantise[write a model in types of ggml that lines of a file choose]' \
		'--imatrix=-[with --quantise, weigh by an importance matrix]:file:_files' \
		'--picture[print theta.svg of a model, or of two]' \
		'--diff=-[print what differs between two models]::form:(tsv)' \
		'--models[list the models of other programs]' \
		'--show[show it in the terminal]' \
		'--why[print why a file in a mount was refused]:path:_files' \
		'--recipe[print the recipe that a GGUF carries]' \
		'--report=-[report on models by their tables]::model:' \
		'--json[with --report, --list, --models, --check or --theta, as JSON]' \
		'--list[print your mounts]' \
		'--stop[unmount, as organfs-umount]' \
		'*-o+[options of the mount]:options:_organfs_option_list' \
		"*:model or mount point:$files"
}

_organfs_umount() {
	_arguments -S $_organfs_help_option "$@" '-f[by force]' '-l[now, without waiting]' \
		'-n[write no mtab]' '-r[read-only where that fails]' '-v[say what was written]' \
		'--all[all of your mounts]' '--keep[write no model, keep the grafts]' \
		'-N+[namespace]:namespace:' '-t+[type]:type:' '*:mount point:_organfs_mounts'
}

_organfs_version_option=('(-)'{-V,--version}'[print the version]')
_organfs_help_option=('(-)'{-h,--help}'[print a summary]' $_organfs_version_option)

case $service in
organfs)
	if ((${words[(I)--stop]})); then
		_organfs_umount '--stop[unmount, as organfs-umount]'
	else
		_organfs_program
	fi
	;;
organ-stream)
	_arguments -S $_organfs_help_option \
		'*-o+[options of the mounts]:options:_organfs_option_list' \
		'-d+[where to fetch to and to mount]:directory:_files -/' \
		'1:list:_files' '2:table:_files'
	;;
organ-dissect)
	_arguments -S $_organfs_help_option \
		'*-o+[options of the mounts]:options:_organfs_option_list' \
		'--verify[compare checksums too]' \
		'*:model or directory:_organfs_models'
	;;
organfs-open)
	_arguments -S $_organfs_help_option \
		'*-o+[options of the mounts]:options:_organfs_option_list' \
		'(-u --unmount)'{-u,--unmount}'[unmount, and wait for the new models]' \
		'*:model:_organfs_models'
	;;
organfs-umount) _organfs_umount ;;
organ-serve)
	_arguments -S $_organfs_help_option \
		'--listen=[address]:address:(127.0.0.1 \:\:1 0.0.0.0 \:\:)' \
		'(--listen --cert --key)--socket=[listen at a socket for its owner alone]:file:_files' \
		'(--token --no-token)--password=[whom to let in]:file:_files' \
		'(--password --no-token)--token=[keep the token in a file]:file:_files' \
		'(--password --token)--no-token[let in every user of this machine]' \
		'--cert=[certificate for HTTPS]:file:_files' \
		'--key=[its private key]:file:_files' \
		'--output=[where .assemble writes]:directory:_files -/' \
		'--models=[models and adapters for clients]:directory:_files -/' \
		'--read-only[nothing can be changed]' \
		'1:mount point:_organfs_mounts' '2:port:'
	;;
esac
