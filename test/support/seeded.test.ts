import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createService, defineCapability } from '../../src/index.ts';
import { temporaryFolder } from './ends.ts';
import { ONE_TIME } from './scripts.ts';
import { type SeededPlatform, seededPlatform } from './seeded.ts';
import { ALICE, BOB, OPERATOR, type TestService, testService } from './world.ts';

const BEGIN = Date.parse('2030-01-01T00:00:00.000Z');
const MINUTE = 60_000;
/** Services that share their keys, so that key ids are the same. */
const keys = temporaryFolder();

const plain = { minimum_scope: ['travel.read'], side_effect: 'write' as const };
const definition = createService({
  id: 'seeded-desk',
  trust: { level: 'anchored', anchoring: { cadence: 'PT1H' } },
  capabilities: [
    defineCapability({
      ...plain,
      name: 'quote',
      description: 'Pins a price',
      side_effect: 'read',
      handler: (_, { issueBinding }) => ({
        quote: issueBinding({ type: 'quote', capability: 'buy', data: {} }),
      }),
    }),
    defineCapability({
      ...plain,
      name: 'buy',
      description: 'Needs the approval of a person',
      approval: {
        when: 'always',
        grant_policy: { ...ONE_TIME, expires_in_seconds: 600 },
      },
      handler: () => ({ bought: true }),
    }),
  ],
});

async function opened(seed: string): Promise<TestService & { platform: SeededPlatform }> {
  const platform = seededPlatform(seed, BEGIN);
  const service = await testService({ definition, platform, keys });
  return { ...service, platform };
}

/** The header that Node writes by its own clock, and the body once more as text. */
const UNLIKE = ['date', 'text'];

/** Every answer to the same calls, each a minute after the last; several of them come at once. */
async function story({ ask, issue, invoke, platform }: Awaited<ReturnType<typeof opened>>) {
  const told: unknown[] = [];
  const tell = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    told.push(await answer);
    platform.advance(MINUTE);
    return answer;
  };
  const { token } = await tell(issue(ALICE, { scope: ['travel.read'] }));
  await tell(invoke(token, 'quote'));
  await tell(Promise.all(['quote', 'missing', 'quote', 'buy'].map((name) => invoke(token, name))));
  const { body } = await tell(invoke(token, 'buy'));
  const { approval_request_id } = body.failure;
  // Before the decision: its entry holds the signature of the grant.
  await tell(ask('POST', '/svc/operator/checkpoints', { bearer: OPERATOR, body: {} }));
  const decision = { bearer: BOB, body: { approval_request_id, grant_type: 'one_time' } };
  const { body: grant } = await tell(ask('POST', '/svc/approval_grants', decision));
  await tell(invoke(token, 'buy', {}, { fields: { approval_grant: grant.grant_id } }));
  await tell(ask('POST', '/svc/invoke/quote', { body: 'no object' }));
  await tell(ask('POST', '/svc/audit', { bearer: ALICE, body: {} }));
  // A signature of ES256 is another one each time.
  return JSON.stringify(told, (name, value) =>
    UNLIKE.includes(name) ? undefined : value,
  ).replaceAll(/eyJ[\w-]+\.[\w-]*\.[\w-]+/g, 'signed');
}

test('two services with one seed give the same answers, to the last id and timestamp', async () => {
  const [one, same, other] = [await opened('seed'), await opened('seed'), await opened('other')];

  const answers = await story(one);

  for (const kind of ['tok_', 'inv-', 'ent_', 'apr_', 'gnt_', 'bnd_', 'ckpt-']) {
    assert.match(answers, new RegExp(`"${kind}[0-9a-f]{12}`));
  }
  assert.equal(await story(same), answers);
  assert.notEqual(await story(other), answers);
});

test('a token expires when the platform says so, without waiting', async () => {
  const { issue, invoke, platform } = await opened('seed');
  const { token } = await issue(ALICE, { scope: ['travel.read'], ttl_hours: 1 });

  platform.advance(60 * MINUTE - 1);
  assert.equal((await invoke(token, 'quote')).status, 200);
  platform.advance(1);
  const late = await invoke(token, 'quote');

  assert.equal(late.body.failure.type, 'token_expired');
});
