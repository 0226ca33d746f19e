// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "library.hpp"
