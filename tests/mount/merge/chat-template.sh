#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The configuration's chat template is the result's, until the merge ends: a literal one, and with
# "auto" that of most models. A template written by the user wins.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M) donor=$(use clerk-Q4_K_M)
cd "$TMP"
key=tokenizer.chat_template
"$GGUF" edit "$base" a.gguf "$key=string: {{ of_most }} "
"$GGUF" edit "$donor" b.gguf "$key=string:{{ of_most }}"
"$GGUF" edit "$donor" c.gguf "$key=string:{{ of_one }}"
template=$MNT/metadata/$key
cat >m.yml <<'END'
merge_method: linear
parameters: {weight: 1}
models: [{model: c}, {model: a}, {model: b}]
END
cp m.yml auto.yml
echo 'chat_template: auto' >>auto.yml
printf '%s\n' 'merge_method: passthrough' 'models: [{model: a}]' 'chat_template: |-' \
	'  {{ literal }}' '  {# of two lines #}' >literal.yml

mount_model -o "noassemble,blocks=keep" "$base"
absent "$template"
cp m.yml "$MNT/.merge"
absent "$template"
cp "$MNT/model.gguf" merged.gguf
cp auto.yml "$MNT/.merge"
equal "$(cat "$template")" '{{ of_most }}'
"$GGUF" edit merged.gguf expected.gguf "$key=string:{{ of_most }}"
same "$MNT/model.gguf" expected.gguf
cp "$MNT/.recipe" recipe.yml
echo "$TMP/out.gguf" >"$MNT/.assemble"
assembly_says ' 0 grafts, 58 merged, '
same out.gguf expected.gguf

grep -q '^ok	merge	.*; with its own chat template$' "$MNT/.check" ||
	fail "$(cat "$MNT/.check")"

# The user's value is an edit, which .undo reverts.
echo '{{ mine }}' >"$template"
cp literal.yml "$MNT/.merge"
equal "$(cat "$template")" '{{ mine }}'
echo "metadata/$key" >"$MNT/.undo"
equal "$(cat "$template")" $'{{ literal }}\n{# of two lines #}'

# The next mount has the template, even if the model is gone.
unmount_and_wait
mv a.gguf away.gguf
mount_model -o noassemble,blocks=keep "$base"
equal "$(cat "$template")" $'{{ literal }}\n{# of two lines #}'
rm "$MNT/.merge"
absent "$template"
same "$MNT/model.gguf" "$base"
mv away.gguf a.gguf
cp recipe.yml "$MNT/.recipe"
same "$MNT/model.gguf" expected.gguf
unmount_and_wait
