/**
 * Everything that a service signs, made without a service: for tests of verification.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { checkpointPayload, logOrigin, rootText } from '../../src/domain/log/checkpoint.ts';
import { type EntryRecord, entryOf, entryView, SALT_BYTES } from '../../src/domain/log/entry.ts';
import { appendLeaves, foldPeaks, type Hash, rootOf } from '../../src/domain/log/merkle.ts';
import { consistencyNodes, foldAll, inclusionNodes } from '../../src/domain/log/merkle-proof.ts';
import {
  cosignatureOf,
  cosignedBytes,
  headText,
  signatureLine,
  writeNote,
} from '../../src/domain/log/note.ts';
import { noteKey, vkeyText } from '../../src/domain/log/note-key.ts';
import {
  INCLUDED_WITHIN_MS,
  type ReceiptPromise,
  receiptPayload,
  receiptTree,
} from '../../src/domain/log/receipt.ts';
import { canonicalJson } from '../../src/domain/wire/canonical.ts';
import { sha256, toHex } from '../../src/domain/wire/hash.ts';
import { generateJwk } from '../../src/keyring/es256.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { ARTEFACTS, type KeyUse } from '../../src/keyring/wire.ts';
import type { AuditEntry, Checkpoint, CheckpointDetail } from '../../src/protocol/audit.ts';
import type { ExportedDetail } from '../../src/protocol/export.ts';
import type { Receipt, SignedReceipt } from '../../src/protocol/invocation.ts';

export const SERVICE = 'travel-desk';
export const LOG_ID = '0b8d2b6e-4d2e-4f53-8f0e-2f1a5c9f7a11';
export const ORIGIN = logOrigin(SERVICE, LOG_ID);
export const NOW = new Date('2090-01-01T12:00:00.000Z');

const T0 = Date.parse('2090-01-01T11:00:00.000Z');
const logJwk = generateJwk();
const keyring = openKeyring(
  { tokenKeys: JSON.stringify([generateJwk()]), logKeys: JSON.stringify([logJwk]) },
  { now: () => NOW, onWarning: assert.fail },
);
const logKey = createPrivateKey({ key: { ...logJwk }, format: 'jwk' });

export const JWKS = keyring.jwks();
export const LOG_KID = keyring.kid('log');
export const TOKEN_KID = keyring.kid('token');
export const LOG_SPKI = new Uint8Array(
  createPublicKey(logKey).export({ type: 'spki', format: 'der' }),
);
export const LOG_VKEY = vkeyText(noteKey(ORIGIN, 'ecdsa', LOG_SPKI));

const witness = generateKeyPairSync('ed25519');
const WITNESS_KEY = noteKey(
  'witness.example/w1',
  'cosignature',
  new Uint8Array(witness.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)),
);
export const WITNESS_VKEY = vkeyText(WITNESS_KEY);

const HEX32 = '0123456789abcdef0123456789abcdef';

export const CLAIMS = {
  iss: SERVICE,
  aud: SERVICE,
  sub: 'agent:planner',
  jti: `tok_${HEX32}`,
  iat: T0 / 1_000,
  exp: T0 / 1_000 + 7_200,
  expires: new Date(T0 + 7_200_000).toISOString(),
  scope: ['travel.search'],
  constraints: { max_delegation_depth: 5 },
  concurrent_branches: 'allowed',
  caller_class: 'default',
  root_principal: 'human:alice@example.com',
};

export function token(claims: object = CLAIMS): string {
  const { use, typ } = ARTEFACTS.delegation;
  return keyring.sign(use, typ, encoded(JSON.stringify(claims)));
}

/** `changed` is not in the digest, `capabilities` are. */
export function manifest(
  changed: object = {},
  capabilities: object = {},
): { body: Uint8Array; signature: string } {
  const metadata = {
    version: '0.24',
    issued_at: '2090-01-01T00:00:00.000Z',
    expires_at: '2090-01-02T00:00:00.000Z',
  };
  const content = {
    service_identity: { id: SERVICE, jwks_uri: 'https://desk.example/jwks', issuer_mode: 'self' },
    trust: { level: 'anchored', anchoring: { cadence: 'PT5S' } },
    capabilities,
  };
  const digest = toHex(sha256(encoded(canonicalJson({ manifest_metadata: metadata, ...content }))));
  const whole = { manifest_metadata: { ...metadata, sha256: digest }, ...content, ...changed };
  return signedManifest(encoded(canonicalJson(whole)));
}

export function signedManifest(body: Uint8Array): { body: Uint8Array; signature: string } {
  const { use, typ } = ARTEFACTS.manifest;
  return { body, signature: keyring.signDetached(use, typ, body) };
}

export function grant(changed: object = {}): Record<string, unknown> {
  const content = {
    grant_id: `gnt_${HEX32}`,
    approval_request_id: `apr_${HEX32}`,
    capability: 'book_flight',
    contract_version: '1.0.0',
    scope: ['travel.book'],
    requester: { subject: 'agent:planner', root_principal: 'human:alice@example.com' },
    parameters_digest: `sha256:${'ab'.repeat(32)}`,
    preview_digest: null,
    grant_type: 'one_time',
    session_id: null,
    approved_by: ['human:bob@example.com'],
    issued_at: new Date(T0).toISOString(),
    expires_at: new Date(T0 + 7_200_000).toISOString(),
    max_uses: 1,
    ...changed,
  };
  const { use, typ } = ARTEFACTS.grant;
  const signature = keyring.signDetached(use, typ, encoded(canonicalJson(content)));
  return { ...content, signature };
}

export interface SmallLog {
  readonly entries: readonly AuditEntry[];
  /** One after each size that was asked for. */
  readonly checkpoints: readonly ExportedDetail[];
  inclusion(index: number, size: number): CheckpointDetail['inclusion_proof'];
  consistency(from: number, to: number): CheckpointDetail['consistency_proof'];
}

/** What the clock of the service said when it made a checkpoint. */
type Clock = (sequence: number) => Date;
const EVEN: Clock = (sequence) => new Date(T0 + sequence * 1_000);

/** A log of as many entries as the last of `sizes`, sealed at each; another `seed`, other leaves. */
export function smallLog(sizes: readonly number[] = [2, 5], seed = 0, clock = EVEN): SmallLog {
  const records = Array.from({ length: sizes.at(-1) ?? 0 }, (_, index) => record(index, seed));
  const leaves = records.map(({ leaf_hash }) => leaf_hash);
  const { nodes } = appendLeaves(0, [], leaves);
  const hashOf = ({ level, index }: { level: number; index: number }) =>
    nodes.find((node) => node.level === level && node.index === index)?.hash as Hash;
  const hex = (groups: Parameters<typeof foldAll>[0]) => foldAll(groups, hashOf).map(toHex);
  return {
    entries: records.map((stored, sequence) => ({
      ...entryView({ ...stored, sequence }),
      leaf: Buffer.from(stored.leaf).toString('base64'),
      personal: Buffer.from(stored.personal).toString('base64'),
    })),
    checkpoints: sizes.map((size, index) =>
      detail(index + 1, size, rootOf(leaves.slice(0, size)), clock),
    ),
    inclusion: (index, size) => ({
      leaf_index: index,
      tree_size: size,
      leaf_hash: toHex(leaves[index] as Hash),
      hashes: hex(inclusionNodes(index, size)),
    }),
    consistency: (from, to) => ({
      from_size: from,
      to_size: to,
      hashes: hex(consistencyNodes(from, to)),
    }),
  };
}

/** The lines of a log's file: each checkpoint after the last entry it covers, the newest in full. */
export function logLines({ entries, checkpoints }: SmallLog): object[] {
  const newest = checkpoints.at(-1);
  const body = entries.flatMap((entry, index): object[] => [
    { entry },
    ...checkpoints
      .filter(({ entry_count }) => entry_count === index + 1)
      .map((checkpoint) => ({
        checkpoint: checkpoint === newest ? checkpoint : listed(checkpoint),
      })),
  ]);
  const header = {
    format: 'writ-log/1',
    service_id: SERVICE,
    tree_size: entries.length,
    checkpoints: checkpoints.length,
    jwks: JWKS,
  };
  return [header, ...body];
}

/** A checkpoint as listings have it. */
export function listed({ tree_size: _, tree_head: __, ...checkpoint }: ExportedDetail): Checkpoint {
  return checkpoint;
}

/** Some entries, each with its proof under the last checkpoint. */
export function trailLines(log: SmallLog, places: readonly number[]): object[] {
  const checkpoint = log.checkpoints.at(-1) as ExportedDetail;
  const facts = { format: 'writ-trail/1', service_id: SERVICE, entries: places.length };
  const lines = places.map((place) => ({
    entry: log.entries[place],
    inclusion_proof: log.inclusion(place, checkpoint.entry_count),
  }));
  return [{ ...facts, checkpoint, jwks: JWKS }, ...lines];
}

export function fileOf(lines: readonly object[]): Uint8Array {
  return encoded(lines.map((line) => `${canonicalJson(line)}\n`).join(''));
}

export function detail(
  sequence: number,
  size: number,
  root: Hash,
  clock: Clock = EVEN,
): ExportedDetail {
  const created = clock(sequence);
  const facts = {
    checkpoint_id: `ckpt-${String(sequence).padStart(32, '0')}`,
    sequence,
    size,
    root,
    created_at: created,
  };
  const { use, typ } = ARTEFACTS.checkpoint;
  return {
    checkpoint_id: facts.checkpoint_id,
    sequence,
    merkle_root: rootText(root),
    entry_count: size,
    created_at: created.toISOString(),
    timestamp: created.toISOString(),
    signature: keyring.signDetached(use, typ, checkpointPayload(SERVICE, facts)),
    tree_size: size,
    tree_head: signedNote({ origin: ORIGIN, size, root }),
  };
}

/** Receipts of entries under one signature, which `promise` may change before it is made. */
export function signedReceipts(
  entries: readonly Pick<AuditEntry, 'entry_id' | 'leaf_hash'>[],
  promise: Partial<ReceiptPromise> & { use?: KeyUse } = {},
): (Receipt & { signed: SignedReceipt })[] {
  const { use = 'log', ...changed } = promise;
  const named = entries.map(({ entry_id, leaf_hash }) => ({ entry_id, leaf_hash }));
  const facts = {
    log_id: LOG_ID,
    last_checkpoint: 1,
    signed_at: new Date(T0).toISOString(),
    included_by: new Date(T0 + INCLUDED_WITHIN_MS).toISOString(),
    tree_size: named.length,
    ...changed,
  };
  const { root, paths } = receiptTree(named);
  const payload = receiptPayload(SERVICE, root, facts);
  const signature = keyring.signDetached(use, ARTEFACTS.receipt.typ, payload);
  return named.map((receipt, leaf_index) => {
    const path = [...(paths[leaf_index] ?? [])];
    return { ...receipt, signed: { ...facts, leaf_index, path, signature } };
  });
}

export function signedNote(head: { origin: string; size: number; root: Hash }): string {
  const text = headText(head);
  const { name, id } = noteKey(head.origin, 'ecdsa', LOG_SPKI);
  const signature = sign('sha256', encoded(text), { key: logKey, dsaEncoding: 'der' });
  return writeNote({ text, signatures: [{ name, keyId: id, signature }] });
}

/** The note with the line of a witness below it. */
export function cosigned(note: string, time = T0 / 1_000): string {
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
  const signature = sign(null, cosignedBytes(text, time), witness.privateKey);
  const { name, id } = WITNESS_KEY;
  return `${note}${signatureLine({ name, keyId: id, signature: cosignatureOf(time, signature) })}`;
}

export function rootAt({ entries }: SmallLog, size: number): Hash {
  const hashes = entries.map(({ leaf_hash }) => new Uint8Array(Buffer.from(leaf_hash, 'hex')));
  return foldPeaks(appendLeaves(0, [], hashes.slice(0, size)).peaks);
}

function record(index: number, seed: number): EntryRecord {
  const id = String(index).padStart(32, '0');
  return entryOf(
    {
      entry_id: `ent_${id}`,
      entry_type: 'invocation',
      actor_key: 'agent:planner',
      root_principal: 'human:alice@example.com',
      event_class: 'high_risk_success',
      success: true,
      state: 'completed',
      timestamp: new Date(T0 + index).toISOString(),
      capability: 'book_flight',
      invocation_id: `inv-${String(index).padStart(12, '0')}`,
      task_id: `fall\u001fé ${index}`,
      cost_actual: { currency: 'USD', amount: 240.5 },
    },
    new Uint8Array(SALT_BYTES).fill(index + seed),
  );
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
