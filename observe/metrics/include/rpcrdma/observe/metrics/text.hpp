// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A report as text for other programs. The sets of labels are bounded: nothing that a peer chooses is a label.
#include <string>
#include <string_view>

#include "rpcrdma/observe/stats/report.hpp"

namespace rpcrdma::observe {

/// Returns a report in the text format of Prometheus, version 0.0.4. The text contains the processor time and the
/// memory that this process uses, and the values of `report` without the list of connections (Report::busiest).
/// `version` is the version of the program.
std::string prometheus_text(const Report& report, std::string_view version);

/// One JSON object, with the connections and with the buckets of the histograms. docs/observability.md describes it.
std::string json_text(const Report& report, std::string_view version);

}  // namespace rpcrdma::observe
