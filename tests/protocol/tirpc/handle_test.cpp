// SPDX-License-Identifier: BSD-3-Clause
// A CLIENT in situations other than plain calls, such as clnt_control(), lost connections, fork(), an AUTH of the
// application, long messages, direct data placement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <vector>

#include "forms_service.hpp"

namespace rpcrdma::tirpc {
namespace {

constexpr timeval kLong{300, 0};

bool_t no_value(XDR*, ...) { return TRUE; }
clnt_stat null_call(CLIENT* client) {
  return clnt_call(client, FORMS_NULL, no_value, nullptr, no_value, nullptr, kLong);
}

clnt_stat produce(CLIENT* client, u_int size, std::string& out,
                  xdrproc_t decode = reinterpret_cast<xdrproc_t>(xdr_blob)) {
  blob result{};
  const clnt_stat status =
      clnt_call(client, FORMS_PRODUCE, reinterpret_cast<xdrproc_t>(xdr_u_int), reinterpret_cast<caddr_t>(&size), decode,
                reinterpret_cast<caddr_t>(&result), kLong);
  if (status == RPC_SUCCESS) {
    out.assign(result.data.data_val, result.data.data_len);
    clnt_freeres(client, decode, reinterpret_cast<caddr_t>(&result));
  }
  return status;
}

class Handle : public ::testing::Test {
 protected:
  FormsServer server_{Loop::of_libtirpc};
  ClientPtr client_ = rdma_client(server_);
  void SetUp() override { ASSERT_NE(client_, nullptr) << clnt_spcreateerror("rdma"); }
};

TEST_F(Handle, ControlAnswersAsTcpDoes) {
  const ClientPtr tcp = tcp_client(server_);
  for (CLIENT* client : {tcp.get(), client_.get()}) {
    SCOPED_TRACE(client == tcp.get() ? "tcp" : "rdma");
    timeval wait{7, 8};
    EXPECT_TRUE(clnt_control(client, CLSET_TIMEOUT, &wait));
    wait = {};
    EXPECT_TRUE(clnt_control(client, CLGET_TIMEOUT, &wait));
    EXPECT_EQ(wait.tv_sec, 7);
    EXPECT_EQ(wait.tv_usec, 8);
    wait = {-2, 0};
    EXPECT_FALSE(clnt_control(client, CLSET_TIMEOUT, &wait));
    sockaddr_in server{};
    EXPECT_TRUE(clnt_control(client, CLGET_SERVER_ADDR, &server));
    EXPECT_EQ(server.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    EXPECT_EQ(ntohs(server.sin_port), client == tcp.get() ? server_.tcp_port() : server_.rdma_port());
    netbuf address{};
    EXPECT_TRUE(clnt_control(client, CLGET_SVC_ADDR, &address));
    EXPECT_EQ(address.len, sizeof server);
    EXPECT_EQ(std::memcmp(address.buf, &server, sizeof server), 0);
    EXPECT_FALSE(clnt_control(client, CLSET_SVC_ADDR, &address));
    std::uint32_t number = 0;
    for (const auto& [get, set, value] :
         {std::tuple(CLGET_VERS, CLSET_VERS, 1u), std::tuple(CLGET_PROG, CLSET_PROG, 0x20004d32u)}) {
      EXPECT_TRUE(clnt_control(client, get, &number));
      EXPECT_EQ(number, value);
      number = 5;
      EXPECT_TRUE(clnt_control(client, set, &number));
      EXPECT_TRUE(clnt_control(client, get, &number));
      EXPECT_EQ(number, 5u);
      number = value;
      EXPECT_TRUE(clnt_control(client, set, &number));
    }
    int fd = -1;
    EXPECT_TRUE(clnt_control(client, CLGET_FD, &fd));
    EXPECT_GE(fd, 0);
    EXPECT_TRUE(clnt_control(client, CLSET_FD_NCLOSE, nullptr));
    EXPECT_TRUE(clnt_control(client, CLSET_FD_CLOSE, nullptr));
    for (const u_int request :
         {CLSET_RETRY_TIMEOUT, CLGET_RETRY_TIMEOUT, CLSET_PUSH_TIMOD, CLSET_POP_TIMOD, CLSET_ASYNC, CLSET_CONNECT, 999})
      EXPECT_FALSE(clnt_control(client, request, &wait)) << request;
    for (const u_int request : {CLSET_TIMEOUT, CLGET_XID, CLGET_FD})
      EXPECT_FALSE(clnt_control(client, request, nullptr));
    EXPECT_EQ(null_call(client), RPC_SUCCESS);
  }
  EXPECT_STREQ(client_->cl_netid, "rdma");
}

TEST_F(Handle, XidsCountDownFromTheOneThatIsSet) {
  std::uint32_t number = 1000;
  EXPECT_TRUE(clnt_control(client_.get(), CLSET_XID, &number));
  for (const std::uint32_t expected : {1000u, 999u, 998u}) {
    EXPECT_EQ(null_call(client_.get()), RPC_SUCCESS);
    EXPECT_TRUE(clnt_control(client_.get(), CLGET_XID, &number));
    EXPECT_EQ(number, expected);
  }
}

TEST_F(Handle, TheDescriptorIsReadableWhenTheServerIsGone) {
  EXPECT_EQ(null_call(client_.get()), RPC_SUCCESS);
  int fd = -1;
  ASSERT_TRUE(clnt_control(client_.get(), CLGET_FD, &fd));
  server_.kill();
  pollfd waiting{fd, POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 100'000), 1);
}

TEST_F(Handle, ANewServerAtTheSameAddressIsUsedByTheNextCall) {
  const std::string address = server_.rdma_address();
  EXPECT_EQ(null_call(client_.get()), RPC_SUCCESS);
  server_.kill();
  const clnt_stat without = null_call(client_.get());
  EXPECT_TRUE(without == RPC_CANTSEND || without == RPC_CANTRECV) << clnt_sperrno(without);
  rpcrdma_svc_options options{};
  options.listen = address.c_str();
  const FormsServer again(Loop::of_libtirpc, options);
  EXPECT_EQ(null_call(client_.get()), RPC_SUCCESS) << clnt_sperror(client_.get(), "again");
}

TEST_F(Handle, AChildCannotUseIt) {
  EXPECT_EQ(null_call(client_.get()), RPC_SUCCESS);
  const pid_t child = ::fork();
  if (child == 0) {
    const clnt_stat status = null_call(client_.get());
    rpc_err error{};
    clnt_geterr(client_.get(), &error);
    client_.reset();
    ::_exit(status == RPC_CANTSEND && error.re_errno == ECHILD ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(null_call(client_.get()), RPC_SUCCESS);
}

TEST_F(Handle, RepliesUpToTheLimit) {
  rpcrdma_clnt_options options{};
  options.max_reply = 100'000;
  options.max_call = 100'000;
  const ClientPtr client = rdma_client(server_, FORMS_PROG, FORMS_V1, &options);
  std::string out;
  EXPECT_EQ(produce(client.get(), 99'000, out), RPC_SUCCESS);
  EXPECT_EQ(out, pattern(99'000));
  // The server cannot encode the reply and calls svcerr_systemerr(), as rpcgen's code does.
  EXPECT_EQ(produce(client.get(), 1'000'000, out), RPC_SYSTEMERROR);
  std::string data = pattern(1'000'000);
  blob in{{1'000'000, data.data()}};
  EXPECT_EQ(clnt_call(client.get(), FORMS_CONSUME, reinterpret_cast<xdrproc_t>(xdr_blob),
                      reinterpret_cast<caddr_t>(&in), no_value, nullptr, kLong),
            RPC_CANTSEND);
  rpc_err error{};
  clnt_geterr(client.get(), &error);
  EXPECT_EQ(error.re_errno, EMSGSIZE);
  EXPECT_EQ(null_call(client.get()), RPC_SUCCESS);
}

/// An AUTH that the application implements itself. Its credential has a flavor that the server does not know. The first
/// call of ah_refresh changes the flavor to AUTH_NONE and succeeds. Later calls of ah_refresh fail. `wrapped` counts
/// the calls of ah_wrap and ah_unwrap.
struct OwnAuth {
  static constexpr std::uint32_t kSecret = 0x5ec1e7;
  AUTH auth{};
  AUTH::auth_ops ops{};
  bool valid = false;
  int refreshed = 0;
  int wrapped = 0;

  static OwnAuth& of(AUTH* auth) { return *static_cast<OwnAuth*>(auth->ah_private); }
  OwnAuth() {
    ops.ah_nextverf = [](AUTH*) {};
    ops.ah_marshal = [](AUTH* a, XDR* xdrs) -> int {
      opaque_auth cred{of(a).valid ? AUTH_NONE : 77, nullptr, 0};
      opaque_auth verf{AUTH_NONE, nullptr, 0};
      return xdr_opaque_auth(xdrs, &cred) && xdr_opaque_auth(xdrs, &verf);
    };
    ops.ah_validate = [](AUTH*, opaque_auth*) -> int { return TRUE; };
    ops.ah_refresh = [](AUTH* a, void* message) -> int {
      const auto* reply = static_cast<rpc_msg*>(message);
      EXPECT_EQ(reply->rm_reply.rp_stat, MSG_DENIED);
      of(a).valid = ++of(a).refreshed == 1;
      return of(a).valid;
    };
    ops.ah_destroy = [](AUTH*) {};
    ops.ah_wrap = [](AUTH* a, XDR* xdrs, xdrproc_t routine, caddr_t value) -> int {
      ++of(a).wrapped;
      // Encodes the value twice at the same position, as a wrapper that needs the length first does.
      const u_int start = XDR_GETPOS(xdrs);
      return routine(xdrs, value) && XDR_SETPOS(xdrs, start) && routine(xdrs, value);
    };
    ops.ah_unwrap = [](AUTH* a, XDR* xdrs, xdrproc_t routine, caddr_t value) -> int {
      ++of(a).wrapped;
      return routine(xdrs, value);
    };
    auth.ah_ops = &ops;
    auth.ah_private = this;
  }
};

TEST_F(Handle, CredentialsOfTheProgram) {
  OwnAuth own;
  AUTH* const usual = client_->cl_auth;
  client_->cl_auth = &own.auth;
  std::string out;
  EXPECT_EQ(produce(client_.get(), 100'000, out), RPC_SUCCESS);
  EXPECT_EQ(out, pattern(100'000));
  EXPECT_EQ(own.refreshed, 1);
  EXPECT_EQ(own.wrapped, 3);  // ah_wrap for each of two attempts, and ah_unwrap for the accepted reply
  own.valid = false;
  EXPECT_EQ(produce(client_.get(), 1, out), RPC_AUTHERROR);
  client_->cl_auth = usual;
}

TEST_F(Handle, ValidationOfTheVerifier) {
  OwnAuth own;
  own.valid = true;
  own.ops.ah_validate = [](AUTH*, opaque_auth*) -> int { return FALSE; };
  AUTH* const usual = client_->cl_auth;
  client_->cl_auth = &own.auth;
  EXPECT_EQ(null_call(client_.get()), RPC_AUTHERROR);
  rpc_err error{};
  clnt_geterr(client_.get(), &error);
  EXPECT_EQ(error.re_why, AUTH_INVALIDRESP);
  client_->cl_auth = usual;
}

TEST_F(Handle, EligibleArgumentsTravelApart) {
  const rpcrdma_ddp table[] = {{FORMS_CONSUME, 1, 0}};
  rpcrdma_clnt_options options{};
  options.ddp = table;
  options.ddp_count = 1;
  const ClientPtr client = rdma_client(server_, FORMS_PROG, FORMS_V1, &options);
  for (const u_int size : {0u, 3u, 5000u, 1'000'001u, 9'000'002u}) {
    std::string data = pattern(size);
    blob in{{size, data.data()}};
    u_quad_t sum = 0;
    ASSERT_EQ(clnt_call(client.get(), FORMS_CONSUME, reinterpret_cast<xdrproc_t>(xdr_eligible_blob),
                        reinterpret_cast<caddr_t>(&in), reinterpret_cast<xdrproc_t>(xdr_u_quad_t),
                        reinterpret_cast<caddr_t>(&sum), kLong),
              RPC_SUCCESS);
    EXPECT_EQ(sum, checksum(data.data(), size));
  }
}

TEST_F(Handle, EligibleResultsTravelApart) {
  const rpcrdma_ddp table[] = {{FORMS_PRODUCE, 0, 9'000'002}};
  rpcrdma_clnt_options options{};
  options.ddp = table;
  options.ddp_count = 1;
  options.max_reply = 4096;  // does not include the data, for which the client offers a Write chunk
  const ClientPtr client = rdma_client(server_, kEligible, 1, &options);
  for (const u_int size : {0u, 3u, 5000u, 1'000'001u, 9'000'002u}) {
    std::string out;
    ASSERT_EQ(produce(client.get(), size, out, reinterpret_cast<xdrproc_t>(xdr_eligible_blob)), RPC_SUCCESS) << size;
    EXPECT_EQ(out, pattern(size));
  }
}

/// Encodes like xdr_blob(), but in alternating parts of 64 KiB and 4 bytes.
bool_t put_in_parts(XDR* xdrs, blob* value, bool temporary) {
  u_int left = value->data.data_len;
  if (!xdr_u_int(xdrs, &left)) return FALSE;
  std::vector<char> buffer(65536);
  for (const char* at = value->data.data_val; left != 0;) {
    const u_int part = left % 65540 == 0 ? 65536 : 4;
    std::memcpy(buffer.data(), at, part);
    if (!XDR_PUTBYTES(xdrs, temporary ? buffer.data() : at, part)) return FALSE;
    at += part;
    left -= part;
  }
  buffer.assign(buffer.size(), '\0');
  return TRUE;
}
extern "C" bool_t xdr_parts(XDR* xdrs, blob* value) { return put_in_parts(xdrs, value, false); }
extern "C" bool_t xdr_temporary_parts(XDR* xdrs, blob* value) { return put_in_parts(xdrs, value, true); }

clnt_stat consume(CLIENT* client, const std::string& data, bool_t (*encode)(XDR*, blob*), u_quad_t& sum) {
  blob in{{static_cast<u_int>(data.size()), const_cast<char*>(data.data())}};
  return clnt_call(client, FORMS_CONSUME, reinterpret_cast<xdrproc_t>(encode), reinterpret_cast<caddr_t>(&in),
                   reinterpret_cast<xdrproc_t>(xdr_u_quad_t), reinterpret_cast<caddr_t>(&sum), kLong);
}

TEST_F(Handle, SeveralLongOpaquesAreCopiedUnlessTheProgramSaysThatTheyStay) {
  const std::string data = pattern(20 * 65540);
  u_quad_t sum = 0;
  ASSERT_EQ(consume(client_.get(), data, xdr_temporary_parts, sum), RPC_SUCCESS);
  EXPECT_EQ(sum, checksum(data.data(), data.size()));
}

/// put_temporary() counts its runs here. It encodes like xdr_blob(), but from a buffer that it frees before it returns.
int runs_of_routine = 0;
bool_t put_temporary(XDR* xdrs, blob* value, bool the_same_again) {
  ++runs_of_routine;
  u_int size = value->data.data_len;
  std::vector<char> buffer(value->data.data_val, value->data.data_val + size);
  // If `the_same_again` is false, the second run encodes one byte less than the first run.
  if (!the_same_again && runs_of_routine == 2) buffer.resize(--size);
  buffer.resize((size + 3) / 4 * 4);
  const bool_t done = xdr_u_int(xdrs, &size) && XDR_PUTBYTES(xdrs, buffer.data(), static_cast<u_int>(buffer.size()));
  buffer.assign(buffer.size(), '\0');
  return done;
}
extern "C" bool_t xdr_temporary(XDR* xdrs, blob* value) { return put_temporary(xdrs, value, true); }
extern "C" bool_t xdr_unsteady(XDR* xdrs, blob* value) { return put_temporary(xdrs, value, false); }

TEST_F(Handle, ALongOpaqueMayBeInATemporaryBuffer) {
  for (const u_int size : {65'532u, 65'533u, 65'536u, 1'000'003u, 9'000'001u}) {
    const std::string data = pattern(size);
    u_quad_t sum = 0;
    runs_of_routine = 0;
    ASSERT_EQ(consume(client_.get(), data, xdr_temporary, sum), RPC_SUCCESS) << size;
    EXPECT_EQ(sum, checksum(data.data(), size));
    EXPECT_EQ(runs_of_routine, 2);  // the first run looks for a long opaque, the second encodes the call
  }
}

TEST_F(Handle, ARoutineThatDoesNotRepeatItselfIsCopied) {
  const std::string data = pattern(1'000'004);
  u_quad_t sum = 0;
  runs_of_routine = 0;
  ASSERT_EQ(consume(client_.get(), data, xdr_unsteady, sum), RPC_SUCCESS);
  EXPECT_EQ(sum, checksum(data.data(), data.size()));
  EXPECT_EQ(runs_of_routine, 3);
}

TEST_F(Handle, ACallWithinItsRoutineMayFail) {
  const std::string data = pattern(1'000'000);
  blob in{{static_cast<u_int>(data.size()), const_cast<char*>(data.data())}};
  u_quad_t sum = 0;
  EXPECT_EQ(clnt_call(client_.get(), 99, reinterpret_cast<xdrproc_t>(xdr_temporary), reinterpret_cast<caddr_t>(&in),
                      reinterpret_cast<xdrproc_t>(xdr_u_quad_t), reinterpret_cast<caddr_t>(&sum), kLong),
            RPC_PROCUNAVAIL);
  ASSERT_EQ(consume(client_.get(), data, xdr_temporary, sum), RPC_SUCCESS);
  EXPECT_EQ(sum, checksum(data.data(), data.size()));
}

TEST(StableOpaques, TravelInBothDirections) {
  const FormsServer server(Loop::of_libtirpc);
  rpcrdma_clnt_options options{};
  options.stable_opaques = 1;
  const ClientPtr client = rdma_client(server, FORMS_PROG, FORMS_V1, &options);
  ASSERT_NE(client, nullptr);
  for (const u_int size : {65'535u, 65'536u, 1'000'003u, 9'000'001u}) {
    const std::string data = pattern(size);
    std::string out;
    ASSERT_EQ(produce(client.get(), size, out), RPC_SUCCESS) << size;
    EXPECT_EQ(out, data);
    u_quad_t sum = 0;
    ASSERT_EQ(consume(client.get(), data, xdr_blob, sum), RPC_SUCCESS) << size;
    EXPECT_EQ(sum, checksum(data.data(), size));
  }
  // xdr_parts() encodes `data` as 100 long opaques. A call may not have that many segments.
  const std::string data = pattern(100 * 65540);
  u_quad_t sum = 0;
  ASSERT_EQ(consume(client.get(), data, xdr_parts, sum), RPC_SUCCESS);
  EXPECT_EQ(sum, checksum(data.data(), data.size()));
}

TEST_F(Handle, ResultsThatCannotBeEncodedToTheEnd) {
  const ClientPtr client = rdma_client(server_, kEligible, 1);
  for (int i = 0; i < 10; ++i) {
    blob result{};
    EXPECT_EQ(clnt_call(client.get(), kFailHalfWay, no_value, nullptr, reinterpret_cast<xdrproc_t>(xdr_blob),
                        reinterpret_cast<caddr_t>(&result), kLong),
              RPC_SYSTEMERROR);
    clnt_freeres(client.get(), reinterpret_cast<xdrproc_t>(xdr_blob), reinterpret_cast<caddr_t>(&result));
    std::string out;
    EXPECT_EQ(produce(client.get(), 1'000'000, out, reinterpret_cast<xdrproc_t>(xdr_eligible_blob)), RPC_SUCCESS);
    EXPECT_EQ(out, pattern(1'000'000));
  }
}

TEST_F(Handle, LongArgumentsAreReadInAnyMixture) {
  const std::string data = pattern(3 * 65540);
  for (const std::size_t size : {65'000u, 65'536u, 65'600u, 70'000u, 130'000u, 196'608u}) {
    u_quad_t sum = 0;
    ASSERT_EQ(consume(client_.get(), data.substr(0, size), xdr_blob, sum), RPC_SUCCESS);
    EXPECT_EQ(sum, checksum(data.data(), size));
  }
}

TEST_F(Handle, AClientThatDiesWhileItsArgumentsAreReadDoesNoHarm) {
  for (int i = 0; i < 10; ++i) {
    int started[2];
    ASSERT_EQ(::pipe(started), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const ClientPtr own = rdma_client(server_);
      const std::string data = pattern(9'000'000);
      for (u_quad_t sum = 0;;) {
        if (::write(started[1], "", 1) != 1 || consume(own.get(), data, xdr_blob, sum) != RPC_SUCCESS) ::_exit(1);
      }
    }
    char byte = 0;
    for (int calls = 0; calls <= i % 3; ++calls) EXPECT_EQ(::read(started[0], &byte, 1), 1);
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(started[0]);
    ::close(started[1]);
    EXPECT_EQ(null_call(client_.get()), RPC_SUCCESS);
  }
}

TEST(Versions, AreThoseOfTheOptions) {
  rpcrdma_svc_options served{};
  served.rdma_version = "2";
  const FormsServer server(Loop::of_libtirpc, served);
  const auto called = [&](const char* version) {
    rpcrdma_clnt_options options{};
    options.rdma_version = version;
    const ClientPtr client = rdma_client(server, FORMS_PROG, FORMS_V1, &options);
    return client == nullptr ? RPC_UNKNOWNHOST : null_call(client.get());
  };
  EXPECT_EQ(called("2"), RPC_SUCCESS);
  EXPECT_EQ(called("auto"), RPC_SUCCESS);
  EXPECT_EQ(called("1"), called(nullptr));
  EXPECT_NE(called(nullptr), RPC_SUCCESS);
}

TEST(Marker, IsXdrBytesOnOtherStreams) {
  std::string data = pattern(1001);
  blob in{{1001, data.data()}};
  std::vector<char> memory(2000);
  XDR xdrs;
  ::xdrmem_create(&xdrs, memory.data(), 2000, XDR_ENCODE);
  ASSERT_TRUE(xdr_eligible_blob(&xdrs, &in));
  EXPECT_EQ(XDR_GETPOS(&xdrs), 4u + 1004);
  ::xdrmem_create(&xdrs, memory.data(), 2000, XDR_DECODE);
  blob out{};
  ASSERT_TRUE(xdr_blob(&xdrs, &out));
  EXPECT_EQ(std::string(out.data.data_val, out.data.data_len), data);
  xdr_free(reinterpret_cast<xdrproc_t>(xdr_eligible_blob), &out);
  EXPECT_EQ(::xdr_sizeof(reinterpret_cast<xdrproc_t>(xdr_eligible_blob), &in), 1008u);
}

TEST(Creation, Errors) {
  const auto fails = [](const char* host) {
    EXPECT_EQ(::rpcrdma_clnt_create(host, FORMS_PROG, FORMS_V1, nullptr), nullptr);
    return rpc_createerr.cf_stat;
  };
  EXPECT_EQ(fails(nullptr), RPC_UNKNOWNHOST);
  EXPECT_EQ(fails(""), RPC_UNKNOWNHOST);
  EXPECT_EQ(fails("rocket@127.0.0.1:1"), RPC_UNKNOWNHOST);
  EXPECT_EQ(fails("127.0.0.1:99999"), RPC_UNKNOWNHOST);
  EXPECT_EQ(fails("[::1"), RPC_UNKNOWNHOST);
  EXPECT_EQ(fails("127.0.0.1:1"), RPC_SYSTEMERROR);
  EXPECT_EQ(rpc_createerr.cf_error.re_errno, ECONNREFUSED);
  EXPECT_STREQ(clnt_spcreateerror("name"), "name: RPC: Remote system error - Connection refused");
  rpcrdma_clnt_options third{};
  third.rdma_version = "3";
  EXPECT_EQ(::rpcrdma_clnt_create("127.0.0.1:1", FORMS_PROG, FORMS_V1, &third), nullptr);
  EXPECT_EQ(rpc_createerr.cf_error.re_errno, EINVAL);
  rpcrdma_svc_options options{};
  options.rdma_version = "3";
  EXPECT_EQ(::rpcrdma_svc_create(&options), nullptr);
  EXPECT_EQ(errno, EINVAL);
  third = {};
  third.poll = "often";
  EXPECT_EQ(::rpcrdma_clnt_create("127.0.0.1:1", FORMS_PROG, FORMS_V1, &third), nullptr);
  EXPECT_EQ(rpc_createerr.cf_error.re_errno, EINVAL);
  options = {};
  options.poll = "0";
  EXPECT_EQ(::rpcrdma_svc_create(&options), nullptr);
  EXPECT_EQ(errno, EINVAL);
  options = {};
  options.listen = "nonsense@";
  EXPECT_EQ(::rpcrdma_svc_create(&options), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace rpcrdma::tirpc
