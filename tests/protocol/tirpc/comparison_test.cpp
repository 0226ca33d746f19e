// SPDX-License-Identifier: BSD-3-Clause
// Makes each form of call over libtirpc's TCP transport and over RDMA, and compares the outcomes: the status, the
// fields of rpc_err that are defined for that status, and the bytes of the results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <tuple>
#include <vector>

#include "forms_service.hpp"

namespace rpcrdma::tirpc {
namespace {

constexpr timeval kPatient{300, 0};
constexpr timeval kBrief{0, 200'000};
constexpr timeval kZero{0, 0};

struct Outcome {
  clnt_stat status = RPC_FAILED;
  clnt_stat kept = RPC_FAILED;  // the status that clnt_geterr() reports after the call
  std::tuple<long, long> detail;
  std::string results;  // encoded in XDR
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << clnt_sperrno(outcome.status) << " kept " << clnt_sperrno(outcome.kept) << " (" << std::get<0>(outcome.detail)
       << ", " << std::get<1>(outcome.detail) << "), " << outcome.results.size() << " bytes";
}

/// Returns the fields of rpc_err's union that are defined for the status.
std::tuple<long, long> detail_of(const rpc_err& error) {
  switch (error.re_status) {
    case RPC_AUTHERROR: return {error.re_why, 0};
    case RPC_VERSMISMATCH:
    case RPC_PROGVERSMISMATCH: return {error.re_vers.low, error.re_vers.high};
    case RPC_CANTSEND:
    case RPC_CANTRECV: return {error.re_errno, 0};
    default: return {};
  }
}

std::string bytes_of(xdrproc_t routine, void* value) {
  std::string out(::xdr_sizeof(routine, value), '\0');
  XDR xdrs;
  ::xdrmem_create(&xdrs, out.data(), static_cast<u_int>(out.size()), XDR_ENCODE);
  EXPECT_TRUE(routine(&xdrs, value));
  return out;
}

template <class T>
xdrproc_t routine(bool_t (*of)(XDR*, T*)) {
  return reinterpret_cast<xdrproc_t>(of);
}
bool_t nothing(XDR*, ...) { return TRUE; }

struct None {};

template <class Args, class Results = None>
Outcome call(CLIENT* client, rpcproc_t procedure, xdrproc_t encode, Args args, xdrproc_t decode,
             timeval timeout = kPatient) {
  Results results{};
  Outcome out;
  out.status = clnt_call(client, procedure, encode, reinterpret_cast<caddr_t>(&args), decode,
                         reinterpret_cast<caddr_t>(&results), timeout);
  rpc_err error{};
  clnt_geterr(client, &error);
  out.kept = error.re_status;
  out.detail = detail_of(error);
  if (out.status == RPC_SUCCESS && decode != nullptr) {
    if (decode != nothing) out.results = bytes_of(decode, &results);
    EXPECT_TRUE(clnt_freeres(client, decode, reinterpret_cast<caddr_t>(&results)));
  }
  return out;
}
Outcome call(CLIENT* client, rpcproc_t procedure, timeval timeout = kPatient) {
  return call<None>(client, procedure, nothing, {}, nothing, timeout);
}

class Comparison : public ::testing::TestWithParam<Loop> {
 protected:
  FormsServer server_{GetParam()};
  ClientPtr tcp_ = tcp_client(server_);
  ClientPtr rdma_ = rdma_client(server_);

  void SetUp() override {
    ASSERT_NE(tcp_, nullptr);
    ASSERT_NE(rdma_, nullptr) << clnt_spcreateerror("rdma");
  }
  /// Runs `form` over TCP and over RDMA, and compares the outcomes; returns that of TCP.
  template <class Form>
  Outcome compare(Form form) {
    const Outcome tcp = form(tcp_.get());
    const Outcome rdma = form(rdma_.get());
    EXPECT_EQ(rdma, tcp);
    return tcp;
  }
  void use(AUTH* over_tcp, AUTH* over_rdma) {
    auth_destroy(tcp_->cl_auth);
    auth_destroy(rdma_->cl_auth);
    tcp_->cl_auth = over_tcp;
    rdma_->cl_auth = over_rdma;
  }
};
std::string loop_name(const ::testing::TestParamInfo<Loop>& loop) {
  return loop.param == Loop::of_libtirpc ? "svc_run" : "rpcrdma_svc_run";
}
INSTANTIATE_TEST_SUITE_P(Loops, Comparison, ::testing::Values(Loop::of_libtirpc, Loop::of_this_library), loop_name);

TEST_P(Comparison, Null) {
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(compare([](CLIENT* client) { return call(client, FORMS_NULL); }).status, RPC_SUCCESS);
}

TEST_P(Comparison, EveryType) {
  node last{3, nullptr};
  node first{-3, &last};
  int numbers[] = {1, -2, INT32_MAX, INT32_MIN};
  char text[] = "a string";
  char chosen[] = "odd";
  mixture in{};
  in.negative = -5;
  in.wide = UINT64_MAX - 1;
  in.signed_wide = INT64_MIN + 1;
  in.flag = TRUE;
  in.fraction = -1.5e-300;
  in.half = 0.5F;
  in.narrow = -32768;
  in.tint = GREEN;
  std::copy_n("seven..", 7, in.fixed);
  in.text = text;
  in.numbers = {4, numbers};
  in.list = &first;
  in.selection.which = RED;
  in.selection.choice_u.text = chosen;
  const auto echo = [&in](CLIENT* client) {
    return call<mixture, mixture>(client, FORMS_ECHO, routine(xdr_mixture), in, routine(xdr_mixture));
  };
  const Outcome red = compare(echo);
  EXPECT_EQ(red.status, RPC_SUCCESS);
  EXPECT_EQ(red.results, bytes_of(routine(xdr_mixture), &in));
  in.selection.which = GREEN;
  in.selection.choice_u.number = UINT64_MAX;
  EXPECT_EQ(compare(echo).results, bytes_of(routine(xdr_mixture), &in));
}

constexpr u_int kSizes[] = {
    0,    1,    2,    3,     4,      100,           900,     1000,          3900,    4000,
    4040, 4096, 8192, 65536, 262143, (1 << 20) - 1, 1 << 20, (4 << 20) + 1, 8 << 20, (8 << 20) + 5};

TEST_P(Comparison, SizesOfResults) {
  for (const u_int size : kSizes) {
    SCOPED_TRACE(size);
    const Outcome outcome = compare([size](CLIENT* client) {
      return call<u_int, blob>(client, FORMS_PRODUCE, routine(xdr_u_int), size, routine(xdr_blob));
    });
    EXPECT_EQ(outcome.status, RPC_SUCCESS);
    EXPECT_EQ(outcome.results.substr(4, size), pattern(size));
  }
}

TEST_P(Comparison, SizesOfArguments) {
  std::string data = pattern(kSizes[std::size(kSizes) - 1]);
  for (const u_int size : kSizes) {
    SCOPED_TRACE(size);
    const blob in{{size, data.data()}};
    const Outcome outcome = compare([&in](CLIENT* client) {
      return call<blob, u_quad_t>(client, FORMS_CONSUME, routine(xdr_blob), in, routine(xdr_u_quad_t));
    });
    u_quad_t sum = checksum(data.data(), size);
    EXPECT_EQ(outcome.results, bytes_of(routine(xdr_u_quad_t), &sum));
  }
}

TEST_P(Comparison, SizesOfBoth) {
  std::string data = pattern(kSizes[std::size(kSizes) - 1]);
  for (const u_int size : kSizes) {
    SCOPED_TRACE(size);
    const blob in{{size, data.data()}};
    const Outcome outcome = compare([&in](CLIENT* client) {
      return call<blob, blob>(client, FORMS_REVERSE, routine(xdr_blob), in, routine(xdr_blob));
    });
    EXPECT_EQ(outcome.results.substr(4, size), std::string(data.rend() - size, data.rend()));
  }
}

TEST_P(Comparison, WrongProcedure) {
  EXPECT_EQ(compare([](CLIENT* client) { return call(client, 99); }).status, RPC_PROCUNAVAIL);
}

TEST_P(Comparison, WrongVersion) {
  std::uint32_t two = 2;
  for (CLIENT* client : {tcp_.get(), rdma_.get()}) EXPECT_TRUE(clnt_control(client, CLSET_VERS, &two));
  const Outcome outcome = compare([](CLIENT* client) { return call(client, FORMS_NULL); });
  EXPECT_EQ(outcome.status, RPC_PROGVERSMISMATCH);
  EXPECT_EQ(outcome.detail, (std::tuple<long, long>(1, 3)));
}

TEST_P(Comparison, WrongProgram) {
  std::uint32_t other = FORMS_PROG + 1;
  for (CLIENT* client : {tcp_.get(), rdma_.get()}) EXPECT_TRUE(clnt_control(client, CLSET_PROG, &other));
  EXPECT_EQ(compare([](CLIENT* client) { return call(client, FORMS_NULL); }).status, RPC_PROGUNAVAIL);
}

TEST_P(Comparison, GarbageArguments) {
  const auto outcome = compare([](CLIENT* client) { return call(client, FORMS_ECHO); });
  EXPECT_EQ(outcome.status, RPC_CANTDECODEARGS);
}

bool_t refuse(XDR*, ...) { return FALSE; }

TEST_P(Comparison, ArgumentsThatCannotBeEncoded) {
  const auto form = [](CLIENT* client) { return call<None>(client, FORMS_NULL, refuse, {}, nothing); };
  EXPECT_EQ(compare(form).status, RPC_CANTENCODEARGS);
}

TEST_P(Comparison, ResultsThatCannotBeDecoded) {
  const auto outcome = compare(
      [](CLIENT* client) { return call<None, mixture>(client, FORMS_NULL, nothing, {}, routine(xdr_mixture)); });
  EXPECT_EQ(outcome.status, RPC_CANTDECODERES);
}

TEST_P(Comparison, ErrorsOfTheServer) {
  EXPECT_EQ(compare([](CLIENT* client) { return call(client, FORMS_FAIL); }).status, RPC_SYSTEMERROR);
  const Outcome denied = compare([](CLIENT* client) { return call(client, FORMS_DENY); });
  EXPECT_EQ(denied.status, RPC_AUTHERROR);
  EXPECT_EQ(std::get<0>(denied.detail), AUTH_TOOWEAK);
}

TEST_P(Comparison, Credentials) {
  const auto who = [](CLIENT* client) {
    return call<None, identity>(client, FORMS_WHO, nothing, {}, routine(xdr_identity));
  };
  const Outcome none = compare(who);
  EXPECT_EQ(none.status, RPC_SUCCESS);
  char name[] = "machine";
  gid_t groups[] = {7, 8, 9};
  use(authunix_create(name, 11, 12, 3, groups), authunix_create(name, 11, 12, 3, groups));
  const Outcome system = compare(who);
  EXPECT_EQ(system.status, RPC_SUCCESS);
  EXPECT_THAT(system.results, ::testing::HasSubstr("machine"));
}

TEST_P(Comparison, UnknownFlavor) {
  for (CLIENT* client : {tcp_.get(), rdma_.get()}) {
    char name[] = "x";
    auth_destroy(client->cl_auth);
    client->cl_auth = authunix_create(name, 0, 0, 0, nullptr);
  }
  // Sends a flavor that the server does not know, instead of AUTH_SYS.
  const auto marshal = [](AUTH*, XDR* xdrs) -> int {
    opaque_auth cred{77, nullptr, 0};
    opaque_auth verf{AUTH_NONE, nullptr, 0};
    return xdr_opaque_auth(xdrs, &cred) && xdr_opaque_auth(xdrs, &verf);
  };
  AUTH::auth_ops strange = *tcp_->cl_auth->ah_ops;
  strange.ah_marshal = marshal;
  AUTH::auth_ops* const usual = tcp_->cl_auth->ah_ops;
  for (CLIENT* client : {tcp_.get(), rdma_.get()}) client->cl_auth->ah_ops = &strange;
  const Outcome outcome = compare([](CLIENT* client) { return call(client, FORMS_NULL); });
  EXPECT_EQ(outcome.status, RPC_AUTHERROR);
  for (CLIENT* client : {tcp_.get(), rdma_.get()}) client->cl_auth->ah_ops = usual;
}

TEST_P(Comparison, UnansweredCallTimesOut) {
  EXPECT_EQ(compare([](CLIENT* client) { return call(client, FORMS_SILENT, kBrief); }).status, RPC_TIMEDOUT);
  // Makes more calls than there are credits, so each unanswered call must give its credit back. The calls are made only
  // over RDMA: after a time-out, libtirpc's handle for TCP would skip the next reply.
  for (int i = 0; i < 40; ++i) EXPECT_EQ(call(rdma_.get(), FORMS_SILENT, {0, 20'000}).status, RPC_TIMEDOUT);
  EXPECT_EQ(call(rdma_.get(), FORMS_NULL).status, RPC_SUCCESS);
}

TEST_P(Comparison, ALateReplyDoesNotHarmTheNextCall) {
  EXPECT_EQ(call(rdma_.get(), FORMS_NULL).status, RPC_SUCCESS);
  server_.suspend();
  EXPECT_EQ(call(rdma_.get(), FORMS_NULL, kBrief).status, RPC_TIMEDOUT);
  std::thread resumer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server_.resume();
  });
  EXPECT_EQ(call(rdma_.get(), FORMS_NULL).status, RPC_SUCCESS);
  resumer.join();
}

TEST_P(Comparison, SlowCallTimesOut) {
  const auto slow = [](CLIENT* client) {
    return call<int, int>(client, FORMS_SLOW, routine(xdr_int), 1000, routine(xdr_int), kBrief);
  };
  EXPECT_EQ(compare(slow).status, RPC_TIMEDOUT);
  // The late reply is not mistaken for the reply to the next call.
  int one = 1;
  const Outcome next = call<int, int>(rdma_.get(), FORMS_SLOW, routine(xdr_int), one, routine(xdr_int));
  EXPECT_EQ(next.results, bytes_of(routine(xdr_int), &one));
}

TEST_P(Comparison, BatchedCalls) {
  int key = 0;
  for (CLIENT* client : {tcp_.get(), rdma_.get()}) {
    ++key;
    for (int i = 1; i <= 1000; ++i) {
      const Outcome batched = call<addition>(client, FORMS_ADD, routine(xdr_addition), {key, i}, nullptr, kZero);
      ASSERT_EQ(batched.status, RPC_SUCCESS);
      ASSERT_EQ(batched.kept, RPC_SUCCESS);
    }
    const Outcome sum = call<int, int>(client, FORMS_SUM, routine(xdr_int), key, routine(xdr_int));
    int expected = 1000 * 1001 / 2;
    EXPECT_EQ(sum.results, bytes_of(routine(xdr_int), &expected));
  }
}

TEST_P(Comparison, MessagePassing) {
  const Outcome passed = compare([](CLIENT* client) { return call(client, FORMS_NULL, kZero); });
  EXPECT_EQ(passed.status, RPC_TIMEDOUT);
  EXPECT_EQ(compare([](CLIENT* client) { return call(client, FORMS_NULL); }).status, RPC_SUCCESS);
}

/// Returns the outcomes of eight threads: four have a handle each, and four share one.
std::vector<std::vector<Outcome>> from_eight_threads(CLIENT* shared, const std::function<ClientPtr()>& make) {
  std::vector<std::vector<Outcome>> outcomes(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    threads.emplace_back([&, i] {
      const ClientPtr own = i % 2 == 0 ? make() : nullptr;
      for (std::size_t round = 0; round < 20; ++round) {
        const auto size = static_cast<u_int>((i * 977 + round * 30011) % 300'000);
        outcomes[i].push_back(
            call<u_int, blob>(own ? own.get() : shared, FORMS_PRODUCE, routine(xdr_u_int), size, routine(xdr_blob)));
        EXPECT_EQ(outcomes[i].back().results.substr(4, size), pattern(size));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

TEST_P(Comparison, EightThreads) {
  const auto rdma = from_eight_threads(rdma_.get(), [this] { return rdma_client(server_); });
  const auto tcp = from_eight_threads(tcp_.get(), [this] { return tcp_client(server_); });
  for (const auto& thread : tcp)
    for (const Outcome& outcome : thread) EXPECT_EQ(outcome.status, RPC_SUCCESS);
  EXPECT_EQ(rdma, tcp);
}

TEST_P(Comparison, DeadServer) {
  EXPECT_EQ(compare([](CLIENT* client) { return call(client, FORMS_NULL); }).status, RPC_SUCCESS);
  std::thread killer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    server_.kill();
  });
  // The server sends no reply to FORMS_SILENT, so both calls are in progress when the server process is killed.
  const auto wait = [](CLIENT* client) { return call(client, FORMS_SILENT); };
  Outcome tcp;
  std::thread other([&] { tcp = wait(tcp_.get()); });
  const Outcome rdma = wait(rdma_.get());
  other.join();
  killer.join();
  EXPECT_EQ(tcp.status, RPC_CANTRECV);
  EXPECT_EQ(rdma, tcp);
}

}  // namespace
}  // namespace rpcrdma::tirpc
