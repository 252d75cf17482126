import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type ApproverPolicy, type ApprovingSide, barredApprover } from './approver.ts';

const request = {
  subject: 'service:desk',
  root_principal: 'human:alice',
  requested_through: ['human:alice', 'human:dave', 'service:desk'],
  approvals_required: 1,
};
const by = (root_principal: string, ...through: string[]): ApprovingSide => ({
  root_principal,
  through: through.length > 0 ? through : [root_principal],
});

const table: [name: string, approver: ApprovingSide, policy: ApproverPolicy, barred: boolean][] = [
  ['lets another person approve', by('human:bob'), {}, false],
  ['lets whom another person trusts approve', by('human:bob', 'human:bob', 'human:eve'), {}, false],
  ['bars the requester', by('service:desk'), {}, true],
  ['bars the requester under the authority of another', by('human:bob', 'service:desk'), {}, true],
  ['bars what the requester passed on', by('human:bob', 'service:desk', 'service:x'), {}, true],
  ['bars what the requester issued under another name', by('service:desk', 'service:x'), {}, true],
  ['bars every principal in the lineage of the request', by('human:dave'), {}, true],
  ['lets the root principal approve in person', by('human:alice'), {}, false],
  [
    'bars the root principal where it is separated',
    by('human:alice'),
    { separation: 'root' },
    true,
  ],
  [
    'bars the separated root principal under the authority of another',
    by('human:bob', 'human:alice'),
    { separation: 'root' },
    true,
  ],
  ['bars a token below the root principal', by('human:alice', 'service:other'), {}, true],
  ['bars an agent', by('agent:a'), {}, true],
  ['bars a token that passed through an agent', by('human:bob', 'agent:a', 'service:x'), {}, true],
  ['lets an agent approve that the policy names', by('agent:a'), { approvers: ['agent:a'] }, false],
  ['bars an agent that the policy does not name', by('agent:b'), { approvers: ['agent:a*'] }, true],
  [
    'bars a named agent that asked itself',
    by('human:bob', 'agent:a', 'service:desk'),
    { approvers: ['agent:*'] },
    true,
  ],
];

for (const [name, approver, policy, barred] of table) {
  test(`barredApprover() ${name}`, () => {
    assert.equal(barredApprover(request, approver, policy) !== undefined, barred);
  });
}

test('barredApprover() counts only approvers in person for a quorum', () => {
  const several = { ...request, approvals_required: 2 };

  assert.equal(barredApprover(several, by('human:bob')), undefined);
  assert.match(
    barredApprover(several, by('human:bob', 'human:carol')) ?? '',
    /delegated tokens may not approve/,
  );
});
