// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Static probes (USDT) for bpftrace, perf and gdb. A probe is one no-operation instruction and an ELF note with the
// address of the instruction and the locations of the arguments. A build without sys/sdt.h (systemtap-sdt-dev) has no
// probes. docs/probes.md lists the probes; a test compares the list with the programs.
#ifdef RPCRDMA_PROBES
#define SDT_USE_VARIADIC  // for STAP_PROBEV
#include <sys/sdt.h>

/// RPCRDMA_PROBE(NAME, ARGUMENTS...): the probe rpcrdma:NAME. Arguments are integers and pointers. They are evaluated
/// even when no tool is attached, so they must be cheap and free of side effects.
#define RPCRDMA_PROBE(name, ...) STAP_PROBEV(rpcrdma, name, __VA_ARGS__)
#else
/// Built without sys/sdt.h: does nothing.
#define RPCRDMA_PROBE(name, ...) static_cast<void>(0)
#endif
