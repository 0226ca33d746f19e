// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The families of cases; some sources have two. To add a family, add a function here, a source, and a line in
// add_families().
#include "peer.hpp"

namespace rpcrdma::conform::iwarp {

using IwarpFamily = Family<Peer>;
/// Makes a family. Each of its cases gets a new TCP connection, on which nothing has been sent.
using MakeFamily = std::function<IwarpFamily(const char* name)>;

void add_requests(const MakeFamily& make);
void add_bad_requests(const MakeFamily& make);
void add_enhanced(const MakeFamily& make);
void add_fpdus(const MakeFamily& make);
void add_ddp(const MakeFamily& make);
void add_rdmap(const MakeFamily& make);
void add_violations(const MakeFamily& make);
void add_terminates(const MakeFamily& make);
void add_closing(const MakeFamily& make);

void add_families(const MakeFamily& make);

}  // namespace rpcrdma::conform::iwarp
