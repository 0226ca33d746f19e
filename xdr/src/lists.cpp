// SPDX-License-Identifier: BSD-3-Clause
// The linked lists of NFSv3 and MOUNTv3, and the bounded strings of MOUNTv3.
#include "rpcrdma/xdr/chain.hpp"
#include "rpcrdma/xdr/mount3.h"
#include "rpcrdma/xdr/nfs3.h"

using rpcrdma::xdr::xdr_chain;

bool_t xdr_entry3_list(XDR* xdrs, entry3_list* list) { return xdr_chain(xdrs, &list->count, &list->items, xdr_entry3); }

bool_t xdr_entryplus3_list(XDR* xdrs, entryplus3_list* list) {
  return xdr_chain(xdrs, &list->count, &list->items, xdr_entryplus3);
}

bool_t xdr_mount_list(XDR* xdrs, mount_list* list) {
  return xdr_chain(xdrs, &list->count, &list->items, xdr_mountbody);
}

bool_t xdr_group_list(XDR* xdrs, group_list* list) {
  return xdr_chain(xdrs, &list->count, &list->items, xdr_groupnode);
}

bool_t xdr_export_list(XDR* xdrs, export_list* list) {
  return xdr_chain(xdrs, &list->count, &list->items, xdr_exportnode);
}

bool_t xdr_dirpath(XDR* xdrs, dirpath* path) { return xdr_bounded_text(xdrs, path, MNTPATHLEN); }
bool_t xdr_mountname(XDR* xdrs, mountname* name) { return xdr_bounded_text(xdrs, name, MNTNAMLEN); }
