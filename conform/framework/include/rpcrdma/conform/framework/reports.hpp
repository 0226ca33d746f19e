// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The formats of reports. A reporter writes to an open file, and does not close it.
#include <cstdio>
#include <memory>
#include <string>

#include "rpcrdma/conform/framework/runner.hpp"

namespace rpcrdma::conform {

/// Prints a line for each case that has run. The details of a failure or known divergence follow the line of its case.
/// The totals come at the end. If `colours` is true, the report contains ANSI colours.
std::unique_ptr<Reporter> make_terminal_report(std::FILE* out, bool colours);
/// Test Anything Protocol: valid as version 13 and 14. A failed case is "not ok". If its level is not Level::must, or
/// if it is a known divergence, it also has the directive todo, so that a reader of the report does not count it as a
/// failure.
std::unique_ptr<Reporter> make_tap_report(std::FILE* out);
/// JUnit XML, written at the end. Failed cases of Level::must are failures. Other failed cases and known divergences
/// are "skipped" with a message.
std::unique_ptr<Reporter> make_junit_report(std::FILE* out);
/// One HTML page without outside resources, written at the end.
std::unique_ptr<Reporter> make_html_report(std::FILE* out);

/// Return the documents that make_html_report() and make_junit_report() write. For tests of these two formats.
std::string html_page(const Summary& summary);
std::string junit_document(const Summary& summary);

/// The list of --list: a line "ID LEVEL RULES" for each selected case.
std::string list_of_cases(const Suite& suite, const Selection& only);

}  // namespace rpcrdma::conform
