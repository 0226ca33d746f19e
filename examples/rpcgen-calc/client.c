/* SPDX-License-Identifier: BSD-3-Clause */
/* calc-client [--rdma] HOST multiply A B | sort N: calls the server over TCP or, with --rdma, over RDMA. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rpcrdma/tirpc.h>

#include "calc.h"

static int multiply(CLIENT *client, double left, double right) {
  pair arguments = {left, right};
  double *product = multiply_1(&arguments, client);
  if (product == NULL) return 0;
  printf("%g\n", *product);
  return 1;
}

/* Lets the server sort `count` numbers: call and reply have 8 bytes for each number. */
static int sort(CLIENT *client, u_int count) {
  numbers in = {{count, malloc((count + 1) * sizeof(double))}};
  for (u_int i = 0; i < count; i++) in.values.values_val[i] = (i * 7919u) % count;
  numbers *out = sort_1(&in, client);
  free(in.values.values_val);
  if (out == NULL) return 0;
  for (u_int i = 1; i < out->values.values_len; i++)
    if (out->values.values_val[i - 1] > out->values.values_val[i]) return 0;
  printf("%u sorted\n", out->values.values_len);
  return 1;
}

int main(int argc, char **argv) {
  const int rdma = argc > 1 && strcmp(argv[1], "--rdma") == 0;
  char **words = argv + 1 + rdma;
  if (argc - rdma < 4) {
    fprintf(stderr, "usage: calc-client [--rdma] HOST multiply A B | sort N\n");
    return 2;
  }

  CLIENT *client = rdma ? rpcrdma_clnt_create(words[0], CALC_PROG, CALC_V1, NULL)
                        : clnt_create(words[0], CALC_PROG, CALC_V1, "tcp");
  if (client == NULL) {
    clnt_pcreateerror(words[0]);
    return 1;
  }
  const int done = words[3] != NULL ? multiply(client, atof(words[2]), atof(words[3]))
                                    : sort(client, (u_int)strtoul(words[2], NULL, 10));
  if (!done) clnt_perror(client, words[0]);
  clnt_destroy(client);
  return done ? 0 : 1;
}
