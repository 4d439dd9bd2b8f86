/* SPDX-License-Identifier: MIT */
/* hub_token.h - the Hub of Hugging Face: its address, and the user's token for it. Source:
 * huggingface_hub, constants.py (HF_ENDPOINT), utils/_auth.py (HF_TOKEN), utils/_headers.py (the
 * token is a bearer token). */
#ifndef FS_STORAGE_HUB_TOKEN_H
#define FS_STORAGE_HUB_TOKEN_H

/* $HF_ENDPOINT, or without it https://huggingface.co. Borrowed. */
const char *hub_endpoint(void);

/* $HF_TOKEN, if a request to that URL may have it: one by https to the host and port of the Hub.
 * Borrowed. NULL: it has none. */
const char *hub_token(const char *url);

#endif
