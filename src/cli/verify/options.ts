/**
 * The options of every `writ verify` command, and the keys and the service id that they name.
 *
 * @module
 */

import { type NoteKey, readVkey } from '../../domain/log/note-key.ts';
import { operations } from '../../protocol/operations.ts';
import type { KeySource, Keys } from '../../verify/keys.ts';
import type { CheckpointAnchors, TrustAnchors } from '../../verify/signed.ts';
import { followKeys } from '../../verify/successors.ts';
import { readJsonFile } from '../shell/files.ts';
import { flag, type Given, list, value } from '../shell/options.ts';
import { JSON_OPTION } from '../shell/output.ts';
import { type Remote, remoteAt } from '../shell/remote.ts';
import { serviceIdAt } from './fetch.ts';

/** Without --service nothing is fetched, so it has no default here. */
export const VERIFY_OPTIONS = {
  service: value('<url>', 'fetch what is not given: keys, newest checkpoint, proofs'),
  'service-id': value('<id>', 'the expected service (default: the id that --service reports)'),
  jwks: value('<file>', 'its keys, saved from a source that you trust'),
  pin: list('<kid>', 'the thumbprint of a key that you know (may be repeated)'),
  vkey: list('<key>', 'a key of the log or of a witness (may be repeated)'),
  'allow-erased': flag('accept entries whose contents retention erased'),
  ...JSON_OPTION,
} as const;

/** What is verified with, as the options name it. */
export interface Sources {
  readonly remote: Remote | undefined;
  readonly jwks: string | undefined;
  readonly pins: readonly string[];
  readonly noteKeys: readonly NoteKey[];
  readonly serviceId: string | undefined;
  readonly allowErased: boolean;
}

export function sourcesOf(given: Given<typeof VERIFY_OPTIONS>): Sources {
  return {
    remote: given.service === undefined ? undefined : remoteAt(given.service),
    jwks: given.jwks,
    pins: given.pin,
    noteKeys: given.vkey.map(keyOf),
    serviceId: given['service-id'],
    allowErased: given['allow-erased'],
  };
}

function keyOf(text: string): NoteKey {
  const key = readVkey(text);
  if (key) return key;
  throw new Error(`"${text}" is not a key of the form <name>+<id>+<base64> (--vkey)`);
}

/**
 * All keys of a set from a file are pinned, unless `--pin` names some of them. Keys of a set from the
 * service are pinned only by `--pin`.
 */
export async function keySource({ jwks, remote, pins, noteKeys }: Sources): Promise<KeySource> {
  if (jwks !== undefined) {
    return { jwks: readJsonFile(jwks), pinned: pins.length > 0 ? pins : 'all', noteKeys };
  }
  if (!remote) return { pinned: pins, noteKeys };
  return { jwks: await remote.json('GET', operations.jwks.path), pinned: pins, noteKeys };
}

async function keysFor(sources: Sources): Promise<Keys> {
  const keys = await followKeys(await keySource(sources));
  if ('fault' in keys) throw new Error(`the keys cannot be used: ${keys.fault}`);
  if (keys.keys.length > 0 || keys.noteKeys.length > 0) return keys;
  throw new Error('there is no key to check with; give --jwks, --vkey or --service');
}

export async function readAnchors(sources: Sources): Promise<TrustAnchors> {
  const { allowErased } = sources;
  const serviceId = await namedService(sources);
  return { keys: await keysFor(sources), now: new Date(), serviceId, allowErased };
}

/** Signatures of checkpoints cover the service id. */
export async function checkpointAnchors(sources: Sources): Promise<CheckpointAnchors> {
  const { serviceId, ...anchors } = await readAnchors(sources);
  if (serviceId === undefined) {
    throw new Error('no service is named; give --service-id or --service');
  }
  return { ...anchors, serviceId };
}

/** The id that `--service-id` names, else the one that the service reports. */
export async function namedService({ serviceId, remote }: Sources): Promise<string | undefined> {
  return serviceId ?? (remote && serviceIdAt(remote));
}
