/**
 * `writ types` against real services: what it writes compiles under `strict` and says the same as the
 * type of the service.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { declarationsOf } from '../../src/cli/types/declarations.ts';
import { createClient } from '../../src/client/index.ts';
import type { TestOptions } from '../support/world.ts';
import { openDesk } from './desk.ts';
import { shop } from './shop.ts';
import { programOf } from './strict.ts';

const SLOW = 120_000;

/** A schema that a type cannot say as it stands: loops, odd names, and an index beside properties. */
const ODD = {
  type: 'object' as const,
  properties: {
    new: { type: 'string' },
    get: { type: 'string' },
    readonly: { type: 'integer', description: '@ts-expect-error */' },
    constructor: { type: ['string', 'null'] },
    'a "b" */': { enum: ['"', '*/', -1, 1e21, null, false] },
    loop: { $ref: '#/$defs/loop' },
    either: { $ref: '#/$defs/either' },
    tree: { $ref: '#/$defs/tree' },
    self: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
    pair: { type: 'array', prefixItems: [{ $ref: '#/$defs/tree' }, {}], minItems: 1, items: {} },
    both: { allOf: [{ properties: { a: {} } }, { required: ['a'], type: 'object' }] },
  },
  required: ['new', 'other'],
  additionalProperties: { type: 'number' },
  $defs: {
    loop: { $ref: '#/$defs/back' },
    back: { anyOf: [{ $ref: '#/$defs/loop' }, { type: 'string' }] },
    either: { oneOf: [{ type: 'array', items: { $ref: '#/$defs/either' } }, { type: 'string' }] },
    tree: { type: 'object', additionalProperties: { $ref: '#/$defs/tree' } },
  },
};

/** The manifest of the service, with the odd schema in one capability. */
async function oddTypes(): Promise<string> {
  const desk = await openDesk({ definition: shop });
  try {
    const reply = await createClient({ url: desk.url }).manifest();
    assert.ok(reply.ok);
    const { by_list } = reply.answer.capabilities;
    assert.ok(by_list);
    const odd = { ...by_list, input_schema: ODD, output_schema: ODD };
    return declarationsOf({ ...reply.answer, capabilities: { odd } });
  } finally {
    await desk.service.close();
  }
}

/** Runs the command against a service with these options; "URL" is its address. */
async function typesOf(args: string[], options: TestOptions = {}, env = {}) {
  const desk = await openDesk(options);
  const texts: [string[], string[]] = [[], []];
  try {
    const status = await main(['types', ...args.map((each) => each.replace('URL', desk.url))], {
      out: (text) => void texts[0].push(text),
      err: (text) => void texts[1].push(text),
      env,
    });
    return { status, out: texts[0].join(''), err: texts[1].join('') };
  } finally {
    await desk.service.close();
  }
}

/** A program that compiles only if two maps of capabilities say the same about each of them. */
const SAME = `
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
/** The names of the capabilities that differ. */
export type Differing<One, Other> = {
  [Name in keyof One | keyof Other]: Name extends keyof One & keyof Other
    ? Same<One[Name], Other[Name]> extends true ? never : Name
    : Name;
}[keyof One | keyof Other];
export type In<Service extends { '~capabilities'?: unknown }> = NonNullable<Service['~capabilities']>;
export type Verdict<Names> = [Names] extends [never] ? 'same' : Names;
type Planted = Differing<{ a: { b?: string }; c: 1 }, { a: { b: string }; c: 1 }>;
export const planted: Verdict<Planted> = 'a';
`;

const COMPARE = `
import { createClient } from 'writ/client';
import type { travelDesk } from '../examples/travel/service.ts';
import type { shop } from '../test/client/shop.ts';
import type { Differing, In, Verdict } from './same.ts';
import type { Shop } from './shop.ts';
import type { TravelDesk } from './travel-desk.ts';

export const desks: Verdict<Differing<TravelDesk, In<typeof travelDesk>>> = 'same';
export const shops: Verdict<Differing<Shop, In<typeof shop>>> = 'same';

const client = createClient<Shop>({ url: 'http://127.0.0.1:8420' });
export async function use(): Promise<number> {
  const reply = await client.invoke({ capability: 'streamed', parameters: { until: 1 } });
  // @ts-expect-error There is no such capability.
  await client.invoke({ capability: 'stramed', parameters: { until: 1 } });
  // @ts-expect-error "until" is a number.
  await client.invoke({ capability: 'streamed', parameters: { until: 'x' } });
  return reply.ok ? reply.answer.result.total : 0;
}
`;

test('writ types says the same as the type of each service, under strict', {
  timeout: SLOW,
}, async () => {
  const [desk, shopText] = [
    await typesOf(['--url', 'URL']),
    await typesOf(['--url', 'URL'], { definition: shop }),
  ];
  assert.deepEqual([desk.status, desk.err, shopText.status, shopText.err], [0, '', 0, '']);

  const program = programOf({
    'same.ts': SAME,
    'compare.ts': COMPARE,
    'travel-desk.ts': desk.out,
    'shop.ts': shopText.out,
    'odd.ts': await oddTypes(),
  });
  try {
    assert.equal(program.compile(), '');
  } finally {
    program.drop();
  }
});

test('writ types --out writes the file, the same each time', async () => {
  const out = join(tmpdir(), `writ-types-${process.pid}.d.ts`);
  try {
    const written = await typesOf(['--url', 'URL', '--out', out], { definition: shop });
    const first = readFileSync(out, 'utf8');
    const printed = await typesOf(['--url', 'URL'], { definition: shop });

    assert.deepEqual([written.status, written.out], [0, '']);
    assert.equal(first, printed.out);
    assert.match(
      first,
      /^\/\/ Made by "writ types" from the manifest of shop, contract versions: 1/,
    );
  } finally {
    rmSync(out, { force: true });
  }
});

test('writ types verifies the manifest, and writes nothing when it does not verify', async () => {
  const pinned = await typesOf(['--url', 'URL', '--pin', 'A'.repeat(43)]);

  assert.deepEqual([pinned.status, pinned.out], [2, '']);
  assert.match(pinned.err, /^Cannot /);
});

test('writ types sends a credential for a gated manifest only when it is asked to', async () => {
  const gated = { settings: { manifest_access: 'authenticated' } };
  const env = { WRIT_CLIENT_CREDENTIAL: 'demo-human-key' };

  const refused = await typesOf(['--url', 'URL'], gated, env);
  const given = await typesOf(['--url', 'URL', '--gated-manifest'], gated, env);

  assert.equal(refused.status, 4);
  assert.match(refused.err, /--gated-manifest/);
  assert.equal(given.status, 0, given.err);
  assert.match(given.out, /export interface TravelDesk/);
});

for (const [args, why, expected = 2] of [
  [[], 'no service is named; give --service'],
  [['--url', 'ftp://a'], 'Cannot use "ftp://a"'],
  [['--url', 'URL', '--token-file', 'x'], '--token-file is for a gated manifest'],
  [['--url', 'URL', '--out', '/no/such/folder/a.d.ts'], 'ENOENT'],
  [['--url', 'URL', 'extra'], 'too many arguments'],
  [['--service', 'http://127.0.0.1:1'], 'does not answer', 5],
] as const) {
  test(`writ types ${args.join(' ')} fails with "${why}"`, async () => {
    const { status, out, err } = await typesOf([...args]);

    assert.deepEqual([status, out], [expected, '']);
    assert.match(err, /^Cannot .*: .*\n$/);
    assert.ok(err.includes(why), err);
  });
}

test('writ types --help shows its options', async () => {
  const { status, out } = await typesOf(['--help']);

  assert.equal(status, 0);
  assert.match(out, /--gated-manifest/);
});
