/**
 * Another service with accounts of people, on this machine: an OAuth server that rotates its refresh tokens, and an API.
 *
 * Every token contains a canary. The server echoes what it is sent in its errors, as careless ones do.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AccountOptions } from '../../src/service/author/accounts.ts';
import { atEnd } from '../support/ends.ts';

export interface OtherService {
  readonly url: string;
  /** How this service is declared at its client. */
  readonly account: AccountOptions;
  /** The forms that the token endpoint received. */
  readonly asked: URLSearchParams[];
  /** The tokens that it was asked to revoke. */
  readonly revoked: string[];
  /** In every token. */
  readonly canary: string;
  /** What the next answers of the token endpoint add or replace. */
  extra: Record<string, unknown>;
  /** Answers the token endpoint in place of the server. */
  behave?: ((response: ServerResponse) => void) | undefined;
  /** How often the revocation endpoint fails first. */
  failingRevocations: number;
  /** The browser of a person who logs in and agrees: where it is sent back to. */
  agree(location: string): URL;
  isValid(access: string): boolean;
  /** As if the person had removed this client there. */
  forget(): void;
}

interface Code {
  readonly challenge: string;
  readonly redirectUri: string;
}

export async function openOtherService(more: Partial<AccountOptions> = {}): Promise<OtherService> {
  const canary = `CANARY${randomBytes(12).toString('hex')}`;
  const codes = new Map<string, Code>();
  const refreshes = new Set<string>();
  const accesses = new Set<string>();
  const made = (kind: string) => `${kind}.${canary}.${randomBytes(9).toString('base64url')}`;

  function give(): Record<string, unknown> {
    const [access_token, refresh_token] = [made('at'), made('rt')];
    accesses.add(access_token);
    refreshes.add(refresh_token);
    return { access_token, refresh_token, token_type: 'Bearer', expires_in: 600, ...other.extra };
  }

  /** A code and a refresh token count once. */
  function granted(form: URLSearchParams): Record<string, unknown> | undefined {
    if (form.get('grant_type') === 'refresh_token') {
      return refreshes.delete(form.get('refresh_token') ?? '') ? give() : undefined;
    }
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const verifier = form.get('code_verifier') ?? '';
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const fits = code?.challenge === challenge && code.redirectUri === form.get('redirect_uri');
    return fits ? give() : undefined;
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (request.url === '/revoke') {
      if (other.failingRevocations > 0) {
        other.failingRevocations -= 1;
        return answer(503, { error: `busy with ${form.get('token')}` });
      }
      other.revoked.push(form.get('token') ?? '');
      accesses.delete(form.get('token') ?? '');
      refreshes.delete(form.get('token') ?? '');
      return answer(200, {});
    }
    other.asked.push(form);
    if (other.behave) return other.behave(response);
    const tokens = granted(form);
    if (tokens) return answer(200, tokens);
    return answer(400, { error: 'invalid_grant', error_description: form.toString() });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const other: OtherService = {
    url,
    account: {
      title: 'Issue tracker',
      authorize: `${url}/authorize`,
      token: `${url}/token`,
      revoke: `${url}/revoke`,
      client_id: 'desk',
      client_secret: `secret-${canary}`,
      scopes: ['issues.read', 'issues.write'],
      inside: true,
      ...more,
    },
    asked: [],
    revoked: [],
    canary,
    extra: {},
    failingRevocations: 0,
    agree(location) {
      const { searchParams } = new URL(location);
      const code = randomBytes(12).toString('hex');
      const redirectUri = searchParams.get('redirect_uri') ?? '';
      codes.set(code, { challenge: searchParams.get('code_challenge') ?? '', redirectUri });
      const back = new URL(redirectUri);
      back.searchParams.set('code', code);
      back.searchParams.set('state', searchParams.get('state') ?? '');
      return back;
    },
    isValid: (access) => accesses.has(access),
    forget() {
      refreshes.clear();
      accesses.clear();
    },
  };
  return other;
}
