# SPDX-License-Identifier: MIT
# organ-serve-models.sh - files of the directory of --models: models, which are mounted read-only
# beside the served one, and adapters, which are linked into it. Sourced by organ-serve-put.
# organ-serve unmounts the models in $ORGANFS_POINTS at its end.
# shellcheck shell=bash disable=SC2154 # path and mount are of organ-serve-answers.sh

READ_ONLY='What is mounted beside the model is for reading only.'
name='' file='' point=''

# Does the file stand for a whole directory of organ files? organfs would mount that.
is_of_directory() {
	[ "${1##*/}" = header.gguf ]
}

# Find the file of that name directly in the directory, never outside of it.
find_file() {
	name=$1
	[ -n "$ORGANFS_MODELS" ] ||
		answer '403 Forbidden' 'files can be named if organ-serve has --models'
	case $name in
	'' | */* | .* | *[[:cntrl:]]*)
		answer '400 Bad Request' 'not the plain name of a file of the directory'
		;;
	esac
	file=$(realpath -e -- "$ORGANFS_MODELS$name" 2>/dev/null && echo .)
	file=${file%$'\n'.}
	[ -f "$file" ] || answer '404 Not Found' "$name: there is no such file"
	[[ $file == "$ORGANFS_MODELS"* ]] ||
		answer '403 Forbidden' "$name: this leads out of the directory of models"
	! is_of_directory "$name" && ! is_of_directory "$file" ||
		answer '403 Forbidden' "$name: this stands for a directory of organ files"
}

# Read the name from the body.
read_name() {
	local body
	body=$(head -c 4097 | tr '\0' '\n')
	[ ${#body} -le 4096 ] || answer '414 URI Too Long' 'the name is too long'
	find_file "$body"
}

# The name of a file as a model, as in a mount of several; empty for shards other than the first.
model_name() {
	local stem=${1%.gguf}
	if [[ $stem =~ ^(.*)-([0-9]{5})-of-[0-9]{5}$ ]]; then
		stem=${BASH_REMATCH[1]}
		[ "${BASH_REMATCH[2]}" = 00001 ] || stem=
	fi
	printf '%s\n' "$stem"
}

# Do all shards of a model lie in the directory?
is_confined() {
	local part
	for part in "${file%-?????-of-?????.gguf}"-?????-of-?????.gguf; do
		[ ! -L "$part" ] ||
			[[ $(realpath -e -- "$part") == "$ORGANFS_MODELS"* ]] || return 1
	done
}

# lock_model NAME: let one process at a time mount or unmount the model. The others wait for a
# minute, and do nothing if their client hangs up meanwhile.
lock_model() {
	local tries=60
	exec 9>"$ORGANFS_REFUSED/model-$(sha256sum <<<"$1" | cut -c 1-64)"
	until flock -w 1 9; do
		! has_hung_up || exit 0
		[ $((tries -= 1)) -gt 0 ] ||
			answer '503 Service Unavailable' "$1 is being mounted or unmounted"
	done
	! has_hung_up || exit 0
}

list_models() {
	local known model mounted place text='' list=''
	[ -n "$ORGANFS_MODELS" ] || answer '404 Not Found' 'organ-serve has no --models'
	for known in "$ORGANFS_MODELS"*.gguf; do
		file=$(realpath -e -- "$known" 2>/dev/null)
		known=${known##*/}
		model=$(model_name "$known")
		[[ -f $file && $file == "$ORGANFS_MODELS"* ]] || continue
		[[ -n $model && $known != *[[:cntrl:]]* ]] || continue
		! is_of_directory "$known" && ! is_of_directory "$file" || continue
		mounted=false
		! is_mounted "$ORGANFS_POINTS/$model" || mounted=true
		[ $mounted = true ] && place=/.models/$model/ || place=-
		text+=$known$'\t'$place$'\n'
		list+="${list:+,$'\n'}{\"file\": $(json_string "$known"), \
\"name\": $(json_string "$model"), \"mounted\": $mounted}"
	done
	! wants_json || respond '200 OK' "{\"models\": [$list]}"
	respond '200 OK' "${text%$'\n'}"
}

# Mount read-only, so that nothing is written to the directory, and nothing is assembled.
mount_model() {
	local model said
	read_name
	model=$(model_name "$name")
	[[ $name == *.gguf && -n $model ]] || answer '422 Unprocessable Content' \
		"$name: not the name of a model, or of its first part"
	is_confined || answer '403 Forbidden' "$name: a part leads out of the directory of models"
	point=$ORGANFS_POINTS/$model
	lock_model "$model"
	if is_mounted "$point"; then
		! is_alive "$point" || answer '409 Conflict' "$model is mounted"
		unmount_point "$ORGANFS_UMOUNT" "$point" || answer '409 Conflict' "$model is in use"
	fi
	mkdir -p -- "$point" || answer '500 Internal Server Error' "$model: no place to mount it"
	if ! said=$("$ORGANFS_PROGRAM" -o ro "$file" "$point" 2>&1 </dev/null 8>&- 9>&-); then
		rmdir -- "$point"
		said=${said//"$ORGANFS_MODELS"/}
		answer '422 Unprocessable Content' "${said#organfs: }"
	fi
	created "/.models/$model/"
}

unmount_model() {
	local model=$1
	case $model in
	'' | */* | .*) answer '403 Forbidden' "$READ_ONLY" ;;
	esac
	point=$ORGANFS_POINTS/$model
	# A lock leaves a file behind, and clients can send any name.
	! is_mounted "$point" || lock_model "$model"
	is_mounted "$point" || answer '404 Not Found' "$model is not mounted"
	! unmount_point "$ORGANFS_UMOUNT" "$point" || no_content
	answer '409 Conflict' "$model is in use"
}

# Link an adapter into the adapters of a model, which merges it; DELETE of the link ends that. A
# link that is not merged would only expose the file, and is removed.
link_adapter() {
	local dir=$mount${path%/} said
	[[ ${dir##*/} == adapters && -e ${dir%/*}/.grafts ]] ||
		answer '405 Method Not Allowed' 'This cannot be done here.'
	read_name
	[[ $name == *.gguf ]] || answer '422 Unprocessable Content' \
		"$name: not the name of an adapter, which ends with .gguf"
	path=${path%/}/$name
	! [ -e "$dir/$name" ] && ! [ -L "$dir/$name" ] ||
		answer '409 Conflict' "${path#/}: there is such a file"
	said=$(ln -s -- "$file" "$dir/$name" 2>&1) ||
		answer "$(status_of "$said" '422 Unprocessable Content')" "$(reason "$path")"
	if [ ! -e "$dir/${name%.gguf}.scale" ]; then
		rm -f -- "$dir/$name"
		answer '422 Unprocessable Content' "$name: the mount does not merge it"
	fi
	created "$path"
}
