#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain: killed processes report nothing
# timeout: 300
# The same on XFS.
TYPE=xfs . "${0%/*}/group.sh"
