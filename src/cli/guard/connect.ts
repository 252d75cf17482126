/**
 * Opens the upstream that a policy names, with the credentials that are in the environment.
 *
 * A credential is read here, given to the upstream, and kept nowhere else. Paths are relative to the folder of the
 * policy, so that a policy means the same wherever the command is started.
 *
 * @module
 */

import { dirname, resolve } from 'node:path';
import type { GuardPolicy } from '../../guard/policy/read.ts';
import { deadlineMsOf, type UpstreamPolicy } from '../../guard/policy/upstream-schema.ts';
import type { Upstream } from '../../guard/upstream.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import type { AccountOptions } from '../../service/author/accounts.ts';
import type { HttpCredential } from '../../service/http-api/http-call.ts';
import type { Io } from '../shell/command.ts';
import type { GuardFiles } from './files.ts';

export interface ConnectOptions {
  readonly files: GuardFiles;
  readonly env: Io['env'];
  readonly platform: Platform;
  readonly log: Logger;
}

/** The account that each person has at the upstream, where the policy says so. */
export function upstreamAccount(policy: GuardPolicy, env: Io['env']): AccountOptions | undefined {
  const { guard: title, upstream } = policy;
  if (!upstream.account) return undefined;
  const { client_secret, scopes = [], ...account } = upstream.account;
  return {
    ...account,
    title,
    scopes,
    inside: upstream.inside,
    ...(client_secret !== undefined && { client_secret: filledIn(client_secret, env) }),
  };
}

/** Loads the packages of the protocol only here: no other command needs them. */
export async function connectUpstream(
  policy: UpstreamPolicy,
  options: ConnectOptions,
): Promise<Upstream> {
  const { files, env, platform, log } = options;
  const folder = dirname(files.policy);
  const deadlineMs = deadlineMsOf(policy);
  const inside = policy.inside ?? false;
  const credential = credentialOf(policy, env);
  if (policy.command !== undefined) {
    const { openStdioUpstream } = await import('../../guard/mcp/stdio.ts');
    const { command, env: names = [] } = policy;
    for (const name of names) variable(name, env);
    const given = { command, environment: env, env: names, cwd: folder };
    return openStdioUpstream({ ...given, deadlineMs, platform, log });
  }
  if (policy.url !== undefined) {
    const { openHttpUpstream } = await import('../../guard/mcp/http.ts');
    const headers =
      credential && 'header' in credential ? { [credential.header]: credential.value } : {};
    return openHttpUpstream({
      url: policy.url,
      inside,
      headers: () => headers,
      deadlineMs,
      platform,
      log,
    });
  }
  const { openApiUpstream } = await import('../../guard/http/upstream.ts');
  return openApiUpstream({
    file: resolve(folder, policy.openapi ?? ''),
    origin: policy.origin ?? '',
    inside,
    headers: policy.headers ?? [],
    credential,
    deadlineMs,
    platform,
  });
}

function credentialOf({ credential }: UpstreamPolicy, env: Io['env']): HttpCredential | undefined {
  if (credential === undefined) return undefined;
  const { header, query = '' } = credential;
  const value = filledIn(credential.value, env);
  return header === undefined ? { query, value } : { header, value };
}

/** A text of the policy with the values of the variables that it names. */
function filledIn(text: string, env: Io['env']): string {
  return text.replace(
    /\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g,
    (_, braced?: string, bare?: string) => variable(braced ?? bare ?? '', env),
  );
}

function variable(name: string, env: Io['env']): string {
  const value = env[name];
  if (value !== undefined && value !== '') return value;
  throw new Error(`the policy needs the variable "${name}", which the environment does not have`);
}
