#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Diffusion models in ComfyUI-GGUF's form: classes, blocks under each model's names, grafts between
# blocks, removed and added blocks. They have neither block_count nor a head.
. "${0%/*}/../lib.sh"
. "${0%/*}/../check/lib.sh"

need getfattr
mkdir "$TMP/models"
for kind in flux sd3 wan qwen_image lumina2; do
	"$here/../tools/diffusion.py" $kind "$TMP/models/$kind.gguf"
done
mount_model -o noassemble "$TMP/models"
root=$MNT

# A model's tensors in block 0 and outside of blocks, by class.
tree() {
	(cd "$root/$1" && ls -d {skeleton,organs,embed,norm,adapters,other}/*.bin 2>/dev/null) |
		sed '/_[1-9]_.*_\|blocks_[1-9]_\|layers_[1-9]_/d; s/\.bin$//' | sort | tr '\n' ' '
}
block() {
	getfattr --absolute-names --only-values -n user.organfs.block "$root/$1.bin" 2>&1 || true
}
# is_drawn MODEL TITLE ROLE...: theta.svg has these.
is_drawn() {
	local svg=$root/$1/theta.svg role
	grep -q ">$2<" "$svg" || fail "$1: no title $2"
	for role in "${@:3}"; do
		grep -q ">$role<" "$svg" || fail "$1: no row $role"
	done
}

equal "$(tree flux)" "embed/final_layer_adaLN_modulation_1 embed/final_layer_linear \
embed/guidance_in_in_layer embed/img_in embed/time_in_in_layer embed/txt_in \
embed/vector_in_out_layer norm/double_blocks_0_img_attn_norm_query_norm_scale \
norm/single_blocks_0_norm_key_norm_scale organs/double_blocks_0_img_mlp_0 \
organs/double_blocks_0_img_mlp_2 organs/double_blocks_0_txt_mlp_0 organs/single_blocks_0_linear1 \
organs/single_blocks_0_linear2 skeleton/double_blocks_0_img_attn_proj \
skeleton/double_blocks_0_img_attn_qkv skeleton/double_blocks_0_img_mod_lin \
skeleton/double_blocks_0_txt_attn_qkv skeleton/double_blocks_0_txt_mod_lin \
skeleton/single_blocks_0_modulation_lin "
equal "$(tree wan)" "embed/head_head embed/head_modulation embed/patch_embedding \
embed/text_embedding_0 embed/time_embedding_2 embed/time_projection_1 norm/blocks_0_norm3 \
norm/blocks_0_self_attn_norm_q organs/blocks_0_ffn_0 organs/blocks_0_ffn_2 \
skeleton/blocks_0_cross_attn_k skeleton/blocks_0_modulation skeleton/blocks_0_self_attn_o \
skeleton/blocks_0_self_attn_q "
equal "$(tree lumina2)" "embed/cap_embedder_1 embed/final_layer_linear embed/t_embedder_mlp_0 \
embed/x_embedder norm/layers_0_attention_norm1 norm/layers_0_attention_q_norm norm/norm_final \
organs/context_refiner_0_feed_forward_w1 organs/layers_0_feed_forward_w1 \
organs/layers_0_feed_forward_w2 organs/layers_0_feed_forward_w3 \
skeleton/context_refiner_0_attention_qkv skeleton/layers_0_adaLN_modulation_1 \
skeleton/layers_0_attention_out skeleton/layers_0_attention_qkv "
for kind in sd3 qwen_image; do
	absent "$root/$kind/other"
done

equal "$(block flux/organs/single_blocks_2_linear1)" 2
equal "$(block flux/skeleton/double_blocks_1_img_attn_qkv)" 1
equal "$(block sd3/skeleton/joint_blocks_1_x_block_attn_qkv)" 1
equal "$(block wan/skeleton/blocks_2_modulation)" 2
equal "$(block qwen_image/skeleton/transformer_blocks_1_attn_to_q)" 1
equal "$(block lumina2/organs/layers_2_feed_forward_w1)" 2
case $(block flux/embed/img_in) in [0-9]*) fail 'img_in is of a block' ;; esac

# Each of two kinds of blocks has its own rows; kinds of other models share theirs.
is_drawn flux 'flux, blocks 0-2, 37 tensors' img_mlp_0 single_blocks_linear1 img_in
is_drawn wan 'wan, blocks 0-2, 30 tensors' ffn_0 self_attn_q
is_drawn lumina2 'lumina2, blocks 0-2, 31 tensors' attention_qkv feed_forward_w1
for kind in flux sd3 wan qwen_image lumina2; do
	MNT=$root/$kind says ok overall 'no graft'
	MNT=$root/$kind says ok blocks '^[23] from 0 on; diffusion models have no block_count'
	equal "$(MNT=$root/$kind verdict output)" '' "$kind: a head"
done

# Copy one block to another, and an organ to a slot of another role.
MNT=$root/flux
cp "$MNT/organs/single_blocks_0_linear1.bin" "$MNT/organs/single_blocks_1_linear1.bin"
says ok donor '1 graft: blk 1 single_blocks_linear1$'
says ok role 'each plays the part'
python3 - "$MNT/model.gguf" "$TMP/models/flux.gguf" "${GGUF%/*}" <<'END'
import sys
sys.path.insert(0, sys.argv[3])
import gguf
def data(path):
    m = gguf.Model(path)
    return {t.name: m.bytes[t.offset:t.offset + t.size] for t in m.tensors}
now, base = data(sys.argv[1]), data(sys.argv[2])
base[b"single_blocks.1.linear1.weight"] = base[b"single_blocks.0.linear1.weight"]
assert now == base
END
cp "$MNT/organs/single_blocks_0_linear2.bin" "$MNT/organs/single_blocks_1_linear1.bin"
says impossible role 'single_blocks_1_linear1.bin holds single_blocks.0.linear2.weight'
cp "$MNT/.base/organs/single_blocks_1_linear1.bin" "$MNT/organs/"

# again PATTERN: undo these removals.
again() {
	local file
	for file in "$MNT"/.base/*/$1.bin; do
		cp "$file" "$MNT/${file#"$MNT"/.base/}"
	done
	says ok overall '^0 grafts|^no graft'
}
rm "$MNT"/*/single_blocks_2_*.bin
says ok blocks '^2 from 0 on'
says ok complete 'no block'
equal "$("$GGUF" organs "$MNT/model.gguf" | grep -c "single_blocks.[0-9].linear1")" 2
again 'single_blocks_2_*'
# Blocks of one kind can be removed without those of the other, but must leave no gap.
rm "$MNT"/*/double_blocks_1_*.bin
says ok overall '9 removed'
again 'double_blocks_1_*'
rm "$MNT"/*/double_blocks_0_*.bin
says impossible blocks 'these are missing: 0 *$'
says ok complete 'no block'
again 'double_blocks_0_*'
rm "$MNT/organs/double_blocks_1_img_mlp_0.bin"
says impossible complete 'while their blocks are there: blk 1 img_mlp_0$'
again 'double_blocks_1_img_mlp_0'

MNT=$root/lumina2
cp "$MNT/organs/layers_2_feed_forward_w1.bin" "$MNT/organs/layers_3_feed_forward_w1.bin"
says impossible complete 'blk 3 was added and lacks .*feed_\*'
for file in "$MNT"/*/layers_2_*.bin; do
	cp "$file" "${file/layers_2_/layers_3_}"
done
says ok complete 'no block'
says ok blocks '^4 from 0 on'
MNT=$root
unmount_and_wait
