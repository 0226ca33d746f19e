/* SPDX-License-Identifier: BSD-3-Clause */
/* calc-server [--rdma [ADDRESS:PORT]]: serves over TCP or, with --rdma, over RDMA. ADDRESS:PORT needs no rpcbind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rpcrdma/tirpc.h>

#include "calc.h"

void calc_prog_1(struct svc_req *request, SVCXPRT *transport); /* generated */

double *multiply_1_svc(pair *in, struct svc_req *request) {
  static double product;
  (void)request;
  product = in->left * in->right;
  return &product;
}

static int compare(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

numbers *sort_1_svc(numbers *in, struct svc_req *request) {
  static numbers out;
  (void)request;
  qsort(in->values.values_val, in->values.values_len, sizeof(double), compare);
  out = *in; /* freed with the arguments, after the reply */
  return &out;
}

static int serve_at(const char *address) {
  const struct rpcrdma_svc_options options = {.listen = address};
  SVCXPRT *transport = rpcrdma_svc_create(&options);
  return transport != NULL && svc_reg(transport, CALC_PROG, CALC_V1, calc_prog_1, NULL);
}

int main(int argc, char **argv) {
  const int rdma = argc > 1 && strcmp(argv[1], "--rdma") == 0;
  const int ready = argc > 2 ? serve_at(argv[2])
                    : rdma   ? rpcrdma_svc_add(calc_prog_1, CALC_PROG, CALC_V1, NULL) != NULL
                             : svc_create(calc_prog_1, CALC_PROG, CALC_V1, "tcp") != 0;
  if (!ready) return 1;
  printf("ready\n");
  fflush(stdout);
  svc_run();
  return 1;
}
