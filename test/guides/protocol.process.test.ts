/**
 * The guides on attacks and on the protocol, typed from the first to the last line. The two clients of the
 * second guide also have to agree with published vectors and with a tree that is computed as the RFC reads.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, launch } from '../support/launch.ts';
import { naiveTree } from '../support/naive-tree.ts';
import { shellTraps } from '../support/shell-words.ts';
import { vectors } from '../support/vectors.ts';
import { CLIENTS, checked, hex, ran, tryProofs } from './clients.ts';
import { blocksOf, missingTool, type WalkOptions, walk } from './walk.ts';

const THREATS = 'docs/guides/threat-model.md';
const PROTOCOL = 'docs/guides/implement-the-protocol.md';
const SLOW = 240_000;

test(`${THREATS}: each attack ends as it says`, { timeout: SLOW }, () => walk(THREATS));

for (const page of [THREATS, PROTOCOL]) {
  test(`${page} has no command that zsh reads differently`, () => {
    const scripts = blocksOf(readFileSync(page, 'utf8')).filter(
      ({ language }) => language === 'sh',
    );

    assert.ok(scripts.length > 3);
    assert.deepEqual(
      scripts.flatMap(({ text }) => shellTraps(text)),
      [],
    );
  });
}

const missing = missingTool('python3', 'openssl');
const both = `${PROTOCOL}: both clients verify what the desk says, and agree`;
test.skipIf(missing)(
  missing ? `${both} (not run: ${missing} is not installed)` : both,
  { timeout: SLOW },
  () => atDesk(),
);
if (missing) {
  test(`${PROTOCOL}: the client in JavaScript verifies what the desk says`, { timeout: SLOW }, () =>
    atDesk({ section: 'A client in JavaScript' }),
  );
}

for (const { file, program } of CLIENTS) {
  const lacking = missingTool(program);
  const reason = lacking ? ` (not run: ${lacking} is not installed)` : '';

  test.skipIf(lacking)(`${file} finds the root of every tree from every leaf${reason}`, () => {
    const tree = naiveTree((index) => `leaf ${index}`);
    const cases = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17].flatMap((tree_size) =>
      Array.from({ length: tree_size }, (_, leaf_index) => ({ tree_size, leaf_index })),
    );

    const lines = checked({ program, file }, cases.map(evidenceFor), temporaryFolder());

    assert.deepEqual(
      lines.map(({ leaf, root }) => [leaf, root]),
      cases.map(({ tree_size, leaf_index }) => [
        hex(tree.leaf(leaf_index)),
        `sha256:${hex(tree.root(0, tree_size))}`,
      ]),
    );

    function evidenceFor(place: (typeof cases)[number]) {
      const hashes = tree.inclusion(place.leaf_index, place.tree_size).map(hex);
      return {
        parameters: {},
        leaf: Buffer.from(`leaf ${place.leaf_index}`).toString('base64'),
        proof: { ...place, hashes },
      };
    }
  });

  test.skipIf(lacking)(`${file} refuses a proof with a hash too many or too few${reason}`, () => {
    const hashes = naiveTree((index) => `leaf ${index}`)
      .inclusion(2, 5)
      .map(hex);

    for (const wrong of [hashes.slice(1), [...hashes, ...hashes.slice(0, 1)]]) {
      const proof = { leaf_index: 2, tree_size: 5, hashes: wrong };
      const evidence = { parameters: {}, leaf: 'bGVhZiAy', proof };
      assert.throws(
        () => checked({ program, file }, [evidence], temporaryFolder()),
        /the proof is too (long|short)/,
      );
    }
  });

  test.skipIf(lacking)(`${file} accepts random proofs of ours and no altered one${reason}`, () => {
    tryProofs({ program, file }, { count: 200, seed: 27, folder: temporaryFolder() });
  });

  const jcs = vectors('jcs');
  test.skipIf(lacking || !jcs)(`${file} writes the published canonical forms${reason}`, () => {
    const texts = (kind: string) =>
      readdirSync(join(jcs as string, kind))
        .sort()
        .map((name) => readFileSync(join(jcs as string, kind, name), 'utf8'));

    const written = ran({ program, file }, ['canonical'], {
      folder: temporaryFolder(),
      input: `[${texts('input').join(',')}]`,
    });

    assert.equal(written.trim(), `[${texts('output').join(',')}]`);
  });
}

async function atDesk(options: WalkOptions = {}): Promise<void> {
  const desk = await addressOf(launch([DESK], temporaryFolder(), { WRIT_LOG_LEVEL: 'silent' }));
  await walk(PROTOCOL, { ...options, port: Number(new URL(desk).port) });
}
