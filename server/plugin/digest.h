/*
 * The digest of a plugin file: a hash of all bytes that the dynamic loader maps, written into the file after linking
 * (`otolith plugins --write-digest`). A file whose bytes have changed since is refused. Pure, [any].
 */
#ifndef PLUGIN_DIGEST_H
#define PLUGIN_DIGEST_H

#include "elf_view.h"

/*
 * The place of the digest in the file; 0: the file has none. Found by its mark alone, so that a damaged header cannot hide it.
 */
size_t oto_digest_place(const void *bytes, size_t size);
/* The digest that is written in the file; 0: none. */
uint64_t oto_digest_written(const void *bytes, size_t place);
/*
 * The digest that belongs in the file. It does not depend on section headers, symbols for debuggers and all else that
 * `strip` changes. Never 0.
 */
uint64_t oto_digest_compute(const struct elf_view *view, size_t place);

#endif
