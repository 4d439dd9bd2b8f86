#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# timeout: 300
# The same on XFS.
TYPE=xfs . "${0%/*}/group.sh"
