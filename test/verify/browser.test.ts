/**
 * `writ/verify` as a browser gets it: bundled, without anything of Node, and with the same answers.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { createContext, runInContext } from 'node:vm';
import { build, defaultClientConditions, type Rollup } from 'vite';
import { test } from 'vitest';
import {
  cosigned,
  fileOf,
  grant,
  JWKS,
  LOG_KID,
  logLines,
  manifest,
  NOW,
  SERVICE,
  signedReceipts,
  smallLog,
  TOKEN_KID,
  token,
  WITNESS_VKEY,
} from './artefacts.ts';

const SLOW = 120_000;

/** What every browser has and V8 alone has not. Nothing of Node is among it. */
const BROWSER = { crypto: webcrypto, TextEncoder, TextDecoder, atob, btoa };

const log = smallLog();
const [earlier, later] = log.checkpoints;

const fixtures = {
  jwks: JWKS,
  pinned: [LOG_KID, TOKEN_KID],
  vkey: WITNESS_VKEY,
  now: NOW.toISOString(),
  service: SERVICE,
  token: token(),
  manifest: { ...manifest(), body: [...manifest().body] },
  grant: grant(),
  checkpoint: { ...later, tree_head: cosigned(later?.tree_head ?? '') },
  proved: { ...later, inclusion_proof: log.inclusion(3, 5) },
  grown: { ...later, consistency_proof: log.consistency(2, 5) },
  earlier,
  entry: log.entries[3],
  signed: signedReceipts(log.entries)[1],
  file: [...fileOf(logLines(log))],
};

/** Verifies every fixture as it is, and once more with one thing changed. */
const PROGRAM = `(async () => {
  const given = JSON.parse(fixtures);
  const anchors = {
    keys: verify.readKeys({ jwks: given.jwks, pinned: given.pinned }),
    now: new Date(given.now),
    serviceId: given.service,
  };
  const noteKeys = [verify.readVkey(given.vkey)];
  const witnessed = verify.readKeys({ jwks: given.jwks, pinned: given.pinned, noteKeys });
  const receipt = { entry_id: given.entry.entry_id, leaf_hash: given.entry.leaf_hash };
  const { body, signature } = given.manifest;
  const file = Uint8Array.from(given.file);
  const cut = file.slice(0, file.length - 2);
  const pinned = { ...anchors, keys: { pinned: given.pinned } };
  const reports = await Promise.all([
    verify.verifyToken(given.token, anchors),
    verify.verifyToken(given.token.replace(/.$/, 'x'), anchors),
    verify.verifyManifest({ body: Uint8Array.from(body), signature }, anchors),
    verify.verifyManifest({ body: Uint8Array.from([...body, 32]), signature }, anchors),
    verify.verifyGrant(given.grant, anchors),
    verify.verifyGrant({ ...given.grant, max_uses: 2 }, anchors),
    verify.verifyCheckpoint(given.checkpoint, { ...anchors, keys: witnessed }),
    verify.verifyCheckpoint({ ...given.checkpoint, sequence: 9 }, anchors),
    verify.verifyEntry({ entry: given.entry, checkpoint: given.proved }, anchors),
    verify.verifyEntry({ entry: { ...given.entry, state: 'failed' }, checkpoint: given.proved }, anchors),
    verify.verifyReceipt({ receipt, checkpoint: given.proved }, anchors),
    verify.verifyReceipt({ receipt, checkpoint: { ...given.proved, sequence: 9 } }, anchors),
    verify.verifySignedReceipt(given.signed, anchors),
    verify.verifySignedReceipt({ ...given.signed, leaf_hash: receipt.leaf_hash.replace(/^../, 'ff') }, anchors),
    verify.verifyConsistency({ earlier: given.earlier, later: given.grown }, anchors),
    verify.verifyConsistency({ earlier: given.grown, later: given.earlier }, anchors),
    verify.verifyExport([file], pinned),
    verify.verifyExport([cut], pinned),
  ]);
  return reports.map(({ verdict }) => verdict).join(' ');
})()`;

test(
  'writ/verify runs in plain V8 with WebCrypto, and nothing of Node is in it',
  async () => {
    const code = await bundle();
    assert.doesNotMatch(code, /['"]node:|\brequire\s*\(|vite-browser-external/);

    const context = createContext({ ...BROWSER, fixtures: JSON.stringify(fixtures) });
    runInContext(code, context);
    const verdicts = await runInContext(PROGRAM, context);

    assert.equal(verdicts, Array(9).fill('verified failed').join(' '));
  },
  SLOW,
);

/** One script that leaves what the package exports under the name `verify`. */
async function bundle(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    resolve: { conditions: ['writ-source', 'browser', ...defaultClientConditions] },
    build: {
      write: false,
      minify: false,
      target: 'es2023',
      lib: { entry: 'src/verify/index.ts', formats: ['iife'], name: 'verify' },
    },
  });
  const [{ output }] = (Array.isArray(built) ? built : [built]) as [Rollup.RollupOutput];
  assert.equal(output.length, 1);
  return output[0].code;
}
