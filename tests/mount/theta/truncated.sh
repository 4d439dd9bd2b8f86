#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# θ of a truncated base is an error; earlier measurements stay.
. "${0%/*}/../lib.sh"

base=$(use scribe-Q4_K_M)
mount_model -o ro "$base"
known=$(cat "$MNT/organs/blk_0_ffn_up.theta")
truncate -s -1M "$base"
equal "$(cat "$MNT/organs/blk_0_ffn_up.theta")" "$known"
last=$(ls "$MNT"/organs/blk_5_ffn_down.theta)
expect_fail 'Input/output error' cat "$last"
expect_fail 'Input/output error' cat "$MNT/.theta"
expect_fail 'Input/output error' cat "$MNT/theta.svg"
expect_fail 'Input/output error' cat "$MNT/organs/.theta"
expect_fail 'Input/output error' getfattr -n user.organfs.theta "${last%theta}bin"
equal "$(cat "$MNT/organs/blk_0_ffn_up.theta")" "$known"
ls -lR "$MNT" >/dev/null
unmount_and_wait
