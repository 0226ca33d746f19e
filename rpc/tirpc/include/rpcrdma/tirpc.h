/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RPC over RDMA (RFC 8166) for programs that are written for libtirpc: a CLIENT and a SVCXPRT like those of its TCP
 * transport, for code that rpcgen generates and for code that calls clnt_call() and svc_sendreply() itself.
 *
 *     CLIENT *clnt = rpcrdma_clnt_create("server", CALC_PROG, CALC_V1, NULL);    instead of clnt_create(..., "tcp")
 *
 *     rpcrdma_svc_add(calc_prog_1, CALC_PROG, CALC_V1, NULL);                    instead of svc_create(..., "tcp")
 *     svc_run();
 *
 * Link with librpcrdma and libtirpc. The functions have C linkage.
 *
 * Threads. A CLIENT may be used by any thread: its calls run one after the other, in the thread that makes them, and
 * different handles share nothing. Each thread has its own rpc_createerr. A SVCXPRT, and with it svc_run(),
 * rpcrdma_svc_run() and the dispatch functions, belongs to one thread: libtirpc keeps its tables of services and
 * transports in variables of the process, and locks only some of them. Reply within the dispatch function.
 *
 * fork(). A child cannot use the CLIENTs that it inherits, as their connections belong to the parent: calls fail with
 * RPC_CANTSEND (ECHILD), and clnt_destroy() does not close the connection. On the iwarp fabric a program may create its
 * SVCXPRT, call fork(), and serve in the child if the parent no longer uses the SVCXPRT (daemon()). On verbs it may
 * not, because the kernel does not share registered memory. A child that is forked by a dispatch function cannot reply.
 *
 * Messages. Arguments and results have any size up to the limits below. A message that does not fit into one RDMA Send
 * is transferred by RDMA Read and Write (RFC 8166 section 3.5), without any action of the program.
 */
#ifndef RPCRDMA_TIRPC_H
#define RPCRDMA_TIRPC_H

#include <rpc/rpc.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Exported from the shared library. */
#define RPCRDMA_TIRPC_API extern __attribute__((visibility("default")))

/* The opaque of a procedure that is eligible for direct data placement (RFC 8166 section 6): it is transferred
 * separately from the message. The specification of the protocol names such procedures (in NFS: READ and WRITE), and
 * both sides must agree. The opaque is the one for which the XDR routine calls xdr_rpcrdma_bytes(); all others stay in
 * the message. */
struct rpcrdma_ddp {
  rpcproc_t proc;      /* number of the procedure */
  int reduces_args;    /* not 0: the opaque of the arguments may travel as a Read chunk */
  unsigned max_result; /* not 0: the opaque of the results, at most this many bytes, travels as a Write chunk */
};

/* Like xdr_bytes(), with the same encoding, for an opaque that is eligible for direct data placement. On XDR streams of
 * other libraries, and for procedures without an entry in a table of struct rpcrdma_ddp, it only calls xdr_bytes().
 * In a .x file: `typedef opaque blob<>;`, with a hand-written xdr_blob() that calls this function. */
RPCRDMA_TIRPC_API bool_t xdr_rpcrdma_bytes(XDR* xdrs, char** bytes, u_int* size, u_int max_size);

/* Long opaques are those of 64 KiB or more. A server moves them directly between the client and the memory that the XDR
 * routine names, on fabrics where that costs less than a copy: arguments while svc_getargs() decodes them, results
 * while svc_sendreply() encodes them. Both functions wait for the transfer, as with TCP. A client that is silent for
 * 15 s loses its connection, and both functions then return FALSE. clnt_call() decodes results while they arrive.
 *
 * On such fabrics, clnt_call() does not copy a long opaque of its arguments either, if the arguments contain only one
 * long opaque, and fewer than 64 KiB of other data. As the memory that a routine names may be a temporary buffer of the
 * routine, clnt_call() then runs the routine twice, and makes the call within the second run, while the routine writes
 * the opaque. Arguments are copied if they contain several long opaques, if the second run writes other bytes before
 * the opaque, or if the authenticator is not libtirpc's AUTH_NONE or AUTH_SYS.
 *
 * With `stable_opaques` clnt_call() runs the routine once, and sends up to eight long opaques from the memory that the
 * routine names; that memory must then not change until clnt_call() returns. Routines that rpcgen generates pass the
 * memory of the program's own data. The option does not affect the server. */

/* Receives log lines; level: 0 trace, 1 debug, 2 info, 3 warn, 4 error. Runs in the thread that uses the handle. */
typedef void (*rpcrdma_log_function)(void* context, int level, const char* line);

/* Zero selects the default of a member. The strings and the table are needed only during the call that takes them. */
struct rpcrdma_clnt_options {
  unsigned max_call;  /* bytes of the longest call message, default 16 MiB */
  unsigned max_reply; /* bytes of the longest reply message, default 16 MiB; a longer one fails with RPC_CANTRECV
                         (EMSGSIZE). The first call with results reserves as much address space for the handle;
                         fabrics with a device pin it. Calls whose results are xdr_void() need none. */
  const struct rpcrdma_ddp* ddp;  /* may be NULL */
  size_t ddp_count;               /* entries */
  struct timeval connect_timeout; /* default 10 s, for each address of the host */
  int stable_opaques;             /* not 0: the memory of long opaques of arguments does not change, see above */
  rpcrdma_log_function log;       /* NULL: no log */
  void* log_context;              /* passed to `log` */
  const char* rdma_version;       /* RPC-over-RDMA: "1" (or NULL), "2", or "auto", which offers 2 and falls back */
  const char* poll;               /* polling for a reply before the thread sleeps: "auto" (or NULL) as long as it saves
                                     time, "off", or a number of microseconds, "1" to "1000000" */
  void* reserved[6];              /* zero */
};

/* A client handle for program `prog`, version `vers`, at `host` = "[FABRIC@]HOST[:PORT]", where FABRIC is auto (the
 * default: verbs if the route to the address uses an RDMA device, else iwarp), verbs or iwarp, and an IPv6 address with
 * a port is written as [::1]:PORT. Without a port, asks rpcbind at HOST for the netid rdma or rdma6. Connects. On
 * failure returns NULL and sets rpc_createerr: RPC_UNKNOWNHOST; RPC_PROGNOTREGISTERED; RPC_PMAPFAILURE; RPC_SYSTEMERROR
 * with the errno of the connection to rpcbind or to the server, or EINVAL for an unknown rdma_version or poll.
 *
 * The handle behaves like one of clnt_create(..., "tcp"), with these differences:
 * - When its connection is lost, the call in progress fails with RPC_CANTRECV (ECONNRESET), as with TCP, since the
 *   server may have run it; the next call connects again. Nothing is sent twice.
 * - Batched calls (no results and a zero timeout) are sent at once. Each holds one of the credits that the server
 *   grants (RFC 8166 section 3.3.1) until the server answers it. A SVCXPRT of this library answers it when a dispatch
 *   function returns without a reply; the client discards that answer. A call with a longer timeout waits for its reply
 *   until it times out, as with TCP.
 * - The handle remains usable after a call has timed out. (libtirpc's TCP client discards the next reply.) For this
 *   reason it does not accept Send with Invalidate (RFC 8797 section 4.1): a late one would end the connection.
 * - CLSET_XID sets the XID of the next call; later calls count down from it. (libtirpc's TCP client counts down in the
 *   byte order of the machine.)
 * - CLGET_FD returns a descriptor that may only be used with poll(). CLSET_FD_CLOSE and CLSET_FD_NCLOSE have no effect.
 * - RPCSEC_GSS with integrity or privacy is not supported. */
RPCRDMA_TIRPC_API CLIENT* rpcrdma_clnt_create(const char* host, rpcprog_t prog, rpcvers_t vers,
                                              const struct rpcrdma_clnt_options* options);

/* Zero selects the default of a member. The strings and the table are needed only during the call that takes them. */
struct rpcrdma_svc_options {
  const char* listen;   /* "[FABRIC@]ADDRESS[:PORT]", default "0.0.0.0:0", a port that the system chooses. A wildcard
                           address takes the iwarp fabric; RDMA devices need an address of their own. */
  unsigned max_message; /* bytes of the longest call or reply that is served, default 64 MiB */
  size_t memory;        /* bytes of registered memory at most, default 4 * max_message + 64 MiB */
  unsigned credits;     /* calls that a client may have in flight, default 32 */
  rpcrdma_log_function log; /* NULL: no log */
  void* log_context;        /* passed to `log` */
  const char* rdma_version; /* RPC-over-RDMA: "1" (or NULL), "2", or "auto": each call is answered in its version */
  const char* poll;         /* as in rpcrdma_clnt_options, for the waits of this transport; rpcrdma_svc_run() uses the
                               value of the transport that was created last before it starts */
  void* reserved[6];        /* zero */
};

/* Creates a transport that listens at one address and serves all connections to it. It is registered with libtirpc, so
 * that svc_run() polls it like any other transport. Register services with svc_reg(xprt, prog, vers, dispatch,
 * nconf), where nconf is NULL, or rpcrdma_svc_netconfig(xprt) to register with rpcbind as well. On failure returns
 * NULL, prints one line on standard error, as svc_vc_create() does, and sets errno.
 *
 * xp_netid is "rdma" or "rdma6", xp_ltaddr the address, xp_port its port; svc_getrpccaller() and svc_getcaller() return
 * the peer of the call that is being dispatched. A dispatch function may leave a call unanswered: see batched calls
 * above. When results cannot be encoded, svc_sendreply() returns FALSE: svcerr_systemerr() can follow, as in the code
 * that rpcgen generates, but no other results. XDR_SETPOS to a position before an opaque of 64 KiB or more fails once
 * the opaque has been written to the client. svc_destroy() ends the connections. */
RPCRDMA_TIRPC_API SVCXPRT* rpcrdma_svc_create(const struct rpcrdma_svc_options* options);

/* As svc_reg(); also registers the service with rpcbind, replacing any entry for the netid of the transport. On failure
 * returns FALSE and prints one line on standard error. svc_unreg() and svc_destroy() remove the entry. */
RPCRDMA_TIRPC_API bool_t rpcrdma_svc_reg(SVCXPRT* xprt, rpcprog_t prog, rpcvers_t vers,
                                         void (*dispatch)(struct svc_req*, SVCXPRT*));

/* Calls the two functions above, as svc_create() does for TCP. The first call creates the transport; later calls with
 * equal options->listen reuse it. On failure returns NULL and prints one line on standard error. */
RPCRDMA_TIRPC_API SVCXPRT* rpcrdma_svc_add(void (*dispatch)(struct svc_req*, SVCXPRT*), rpcprog_t prog, rpcvers_t vers,
                                           const struct rpcrdma_svc_options* options);

/* As svc_run(), for transports of any kind, until svc_exit(). As long as calls keep arriving, polls for a moment before
 * blocking, which saves the wake-up. */
RPCRDMA_TIRPC_API void rpcrdma_svc_run(void);

#ifdef __cplusplus
}
#endif
#endif
