/**
 * The document of a client at an https address of this machine. Its certificate is of the test suite alone: a
 * process that starts with `NODE_EXTRA_CA_CERTS` trusts it.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { atEnd } from '../support/ends.ts';

export const CERTIFICATE = join(import.meta.dirname, 'localhost-cert.pem');

const KEY = join(import.meta.dirname, 'localhost-key.pem');

/** The address of the document, which is the id of the client. */
export async function clientDocument(): Promise<string> {
  let address = '';
  const certificate = { cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) };
  const server = createServer(certificate, (_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        client_id: address,
        client_name: 'Trip Helper',
        redirect_uris: ['http://127.0.0.1/callback'],
        token_endpoint_auth_method: 'none',
      }),
    );
  });
  await new Promise<void>((ready) => server.listen(0, 'localhost', ready));
  atEnd(() => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  });
  address = `https://localhost:${(server.address() as AddressInfo).port}/client.json`;
  return address;
}
