/**
 * The options of `writ verify`, and its keys and service id.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { type NoteKey, readVkey } from '../../domain/log/note-key.ts';
import { operations } from '../../protocol/operations.ts';
import type { KeySource, Keys } from '../../verify/keys.ts';
import { followKeys } from '../../verify/successors.ts';
import { credentialOf } from '../login/credential.ts';
import { joinedValues } from '../shell/arguments.ts';
import { jsonIn } from '../shell/files.ts';
import type { Io } from '../shell/io.ts';
import { type Remote, remoteAt } from '../shell/remote.ts';
import { serviceIdAt } from './fetch.ts';

export interface VerifyOptions {
  readonly files: readonly string[];
  readonly remote?: Remote | undefined;
  /** Where the manifest is fetched from: the same service, with a credential where it is gated. */
  readonly manifestRemote?: Remote | undefined;
  readonly jwks?: string | undefined;
  readonly pins: readonly string[];
  readonly noteKeys: readonly NoteKey[];
  readonly serviceId?: string | undefined;
  readonly signature?: string | undefined;
  readonly log?: string | undefined;
  readonly after?: string | undefined;
  readonly isTrail: boolean;
  readonly allowErased: boolean;
  readonly isJson: boolean;
}

export function verifyOptions(args: readonly string[], io: Io): VerifyOptions {
  const { values, positionals } = parseArgs({
    args: joinedValues(args, options),
    options,
    allowPositionals: true,
  });
  const { service } = values;
  if (values['token-file'] !== undefined && !values['gated-manifest']) {
    throw new Error('--token-file is for a gated manifest; give --gated-manifest too');
  }
  const credential = values['gated-manifest'] ? credentialOf(values['token-file'], io) : undefined;
  return {
    files: positionals,
    remote: service === undefined ? undefined : remoteAt(service),
    manifestRemote: service === undefined ? undefined : remoteAt(service, credential),
    jwks: values.jwks,
    pins: values.pin ?? [],
    noteKeys: (values.vkey ?? []).map(keyOf),
    serviceId: values['service-id'],
    signature: values.signature,
    log: values.log,
    after: values.after,
    isTrail: values.trail ?? false,
    allowErased: values['allow-erased'] ?? false,
    isJson: values.json ?? false,
  };
}

const options = {
  service: { type: 'string' },
  jwks: { type: 'string' },
  pin: { type: 'string', multiple: true },
  vkey: { type: 'string', multiple: true },
  'service-id': { type: 'string' },
  signature: { type: 'string' },
  log: { type: 'string' },
  after: { type: 'string' },
  trail: { type: 'boolean' },
  'allow-erased': { type: 'boolean' },
  'gated-manifest': { type: 'boolean' },
  'token-file': { type: 'string' },
  json: { type: 'boolean' },
} as const;

function keyOf(text: string): NoteKey {
  const key = readVkey(text);
  if (key) return key;
  throw new Error(`"${text}" is not a key of the form <name>+<id>+<base64> (--vkey)`);
}

/**
 * All keys of a set from a file are pinned, unless `--pin` names some of them. Keys of a set from the
 * service are pinned only by `--pin`.
 */
export async function keySource(asked: VerifyOptions): Promise<KeySource> {
  const { jwks, remote, pins, noteKeys } = asked;
  if (jwks !== undefined) {
    return { jwks: jsonIn(jwks), pinned: pins.length > 0 ? pins : 'all', noteKeys };
  }
  if (!remote) return { pinned: pins, noteKeys };
  return { jwks: await remote.json('GET', operations.jwks.path), pinned: pins, noteKeys };
}

export async function keysFor(asked: VerifyOptions): Promise<Keys> {
  const keys = await followKeys(await keySource(asked));
  if ('fault' in keys) throw new Error(`the keys cannot be used: ${keys.fault}`);
  if (keys.keys.length > 0 || keys.noteKeys.length > 0) return keys;
  throw new Error('there is no key to check with; give --jwks, --vkey or --service');
}

/** Signatures of checkpoints cover the service id. Without `--service-id`, the reported id is used. */
export async function serviceIdFor({ serviceId, remote }: VerifyOptions): Promise<string> {
  if (serviceId !== undefined) return serviceId;
  if (!remote) throw new Error('no service is named; give --service-id or --service');
  return serviceIdAt(remote);
}
