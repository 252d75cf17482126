/**
 * Inputs over the surface: what handlers get, what is refused, and what callers are asked.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { digestOf } from '../../src/domain/wire/canonical.ts';
import { assertRefused, onEachStore } from './rig.ts';

// For each type: values that pass, and values that do not.
const TYPES: [type: string, good: unknown[], bad: unknown[]][] = [
  ['string', ['', 'x', '2030-01-01'], [1, true, [], {}]],
  ['integer', [0, -5, 9007199254740991], [1.5, '1', true]],
  ['number', [0.5, -12.25, 7], ['1', true]],
  ['boolean', [true, false], ['true', 0, 1]],
  ['date', ['2028-02-29'], ['2030-02-29', '2030-1-1', '2030-01-01T00:00:00Z', 20300101]],
  ['datetime', ['2030-01-01T00:00:00Z', '2030-01-01T00:00:00.5+02:00'], ['2030-01-01', 'now']],
  ['array', [[], [1, 'a', null]], [{}, '[]']],
  ['object', [{}, { a: { b: [] } }], [[], '{}']],
  ['hint', ['x', 1, [1], { a: 1 }, false], []],
];

onEachStore((rig) => {
  for (const [type, good, bad] of TYPES) {
    test(`invoke() enforces the type ${type}`, async () => {
      const { token } = await rig().token();
      const name = `a_${type}`;

      for (const value of good) {
        const { body } = await rig().invoke(token, 'types', { [name]: value });
        assert.deepEqual(body.result?.got, { [name]: value }, JSON.stringify(body));
      }
      for (const value of bad) {
        const { body } = await assertRefused(rig(), 'invalid_parameters', () =>
          rig().invoke(token, 'types', { [name]: value }),
        );
        assert.match(body.failure.detail, new RegExp(name));
      }
    });
  }

  test('invoke() fills in defaults, treats null as absent and omits optional inputs', async () => {
    const { token } = await rig().token();
    const got = async (parameters: object) =>
      (await rig().invoke(token, 'defaults', parameters)).body.result?.got;

    assert.deepEqual(await got({ must: 'x' }), { must: 'x', filled: 7, closed: 'a' });
    assert.deepEqual(await got({ must: 'x', may: null, filled: null, closed: null }), {
      must: 'x',
      filled: 7,
      closed: 'a',
    });
    assert.deepEqual(await got({ must: 'x', may: 1, filled: 2, closed: 'b' }), {
      must: 'x',
      may: 1,
      filled: 2,
      closed: 'b',
    });
    for (const parameters of [{}, { must: null }]) {
      await assertRefused(rig(), 'invalid_parameters', () =>
        rig().invoke(token, 'defaults', parameters),
      );
    }
    await assertRefused(rig(), 'input_denied', () =>
      rig().invoke(token, 'defaults', { must: 'x', closed: 'A' }),
    );
  });

  test('invoke() refuses undeclared parameters of any name', async () => {
    const { token } = await rig().token();
    for (const name of [
      'Note',
      'notes',
      'toString',
      'constructor',
      'hasOwnProperty',
      '',
      'svc_x',
    ]) {
      await assertRefused(rig(), 'invalid_parameters', () =>
        rig().invoke(token, 'touch', { [name]: 'x' }),
      );
    }
    const body = '{"parameters":{"__proto__":{"note":"x"}}}';
    await assertRefused(rig(), 'invalid_parameters', () =>
      rig().ask('POST', '/svc/invoke/touch', { bearer: token, body }),
    );
  });

  test('invoke() passes on a parameter named like an inherited property', async () => {
    const { token } = await rig().token();

    const sent = await rig().invoke(token, 'types', { constructor: 'x' });
    const unsent = await rig().invoke(token, 'types', {});

    assert.equal(sent.body.result.got.constructor, 'x');
    assert.deepEqual(unsent.body.result.got, {});
  });

  test('invoke() gives the handler what the resolver found, and digests that', async () => {
    const { token } = await rig().token();
    rig().world.resolve('places', { value: 'LIS' });

    const { body } = await rig().invoke(token, 'travel', { place: 'lisbon' });

    assert.deepEqual(body.result.got, { place: 'LIS' });
    const [entry] = await rig().entries(body.invocation_id);
    assert.equal(entry?.parameters_digest, digestOf({ place: 'LIS' }));
  });

  test('invoke() runs nothing when a resolver breaks, hangs or answers nonsense', async () => {
    const { token } = await rig().token();
    const call = () => rig().invoke(token, 'travel', { place: 'lisbon' });

    rig().world.resolve('places', () => {
      throw new Error('secret-canary');
    });
    const broken = await assertRefused(rig(), 'internal_error', call);
    rig().world.resolve('places', () => new Promise(() => undefined));
    await assertRefused(rig(), 'service_unavailable', call);
    rig().world.resolve('places', { value: 7 });
    await assertRefused(rig(), 'invalid_parameters', call);
    rig().world.resolve('places', () => undefined as never);
    await assertRefused(rig(), 'input_denied', call);

    assert.equal(broken.text?.includes('secret-canary'), false);
  });

  test('invoke() protects the sent parameters from a resolver that changes them', async () => {
    const { token } = await rig().token();
    rig().world.resolve('places', { value: 'LIS' });
    const headers = { 'idempotency-key': 'resolved' };
    const call = () => rig().invoke(token, 'travel', { place: 'lisbon' }, { headers });

    const first = await call();

    assert.equal(first.status, 200);
    assert.equal((await call()).text, first.text);
  });

  test('invoke() asks with candidates only where they may be disclosed', async () => {
    const { token } = await rig().token();
    const call = () => rig().invoke(token, 'travel', { place: 'san' });

    rig().world.resolve('places', { candidates: ['SFO', 'SJC'], disclosable: true });
    const open = await assertRefused(rig(), 'clarification_required', call);
    rig().world.resolve('places', { candidates: ['SFO', 'SJC'] });
    const closed = await assertRefused(rig(), 'clarification_required', call);

    const clarify = { input: 'place', reason: 'ambiguous' };
    assert.deepEqual(open.body.failure.clarify, [{ ...clarify, candidates: ['SFO', 'SJC'] }]);
    assert.deepEqual(closed.body.failure.clarify, [clarify]);
    assert.equal(JSON.stringify(closed.body).includes('SFO'), false);
  });

  test('invoke() denies a value that the resolver does not know when nothing may be disclosed', async () => {
    const { token } = await rig().token();
    rig().world.resolve('places', { unresolved: true });

    await assertRefused(rig(), 'input_denied', () =>
      rig().invoke(token, 'travel', { place: 'atlantis' }),
    );
  });

  test('invoke() asks for everything that is missing at once', async () => {
    const { token } = await rig().token();

    const { body } = await assertRefused(rig(), 'clarification_required', () =>
      rig().invoke(token, 'ask'),
    );

    assert.deepEqual(body.failure.clarify, [
      { input: 'first', reason: 'missing' },
      { input: 'second', reason: 'missing', candidates: ['x', 'y'] },
    ]);
  });

  test('invoke() derives values only from the configured policy of the actor', async () => {
    const tenant = await rig().token({ subject: 'agent:tenant-7' });
    const stranger = await rig().token({ subject: 'agent:stranger' });
    const odd = await rig().token({ subject: 'agent:odd' });
    const got = async (parameters: object) =>
      (await rig().invoke(tenant.token, 'tenant', parameters)).body.result?.got;

    assert.deepEqual(await got({}), { account: 'acme', region: 'eu', tier: 'gold' });
    assert.deepEqual(await got({ region: 'us', tier: 'basic' }), {
      account: 'acme',
      region: 'us',
      tier: 'basic',
    });
    for (const parameters of [{ region: 'mars' }, { account: 'acme' }, { tier: 'lead' }]) {
      await assertRefused(rig(), 'input_denied', () =>
        rig().invoke(tenant.token, 'tenant', parameters),
      );
    }
    await assertRefused(rig(), 'invalid_parameters', () => rig().invoke(stranger.token, 'tenant'));
    // A policy that names what the declaration does not allow derives nothing.
    await assertRefused(rig(), 'input_denied', () => rig().invoke(odd.token, 'tenant'));
  });

  test('invoke() applies the policy of a name only when the root principal assigned the name', async () => {
    const tenant = await rig().token({ subject: 'agent:tenant-7' });
    const helper = await rig().child(tenant, { subject: 'agent:helper' });
    const stranger = await rig().token({ subject: 'agent:stranger' });
    const namesake = await rig().child(stranger, { subject: 'agent:tenant-7' });

    const { body } = await rig().invoke(helper.token, 'tenant');

    assert.equal(body.result?.got.account, 'acme');
    await assertRefused(rig(), 'invalid_parameters', () => rig().invoke(namesake.token, 'tenant'));
  });
});
