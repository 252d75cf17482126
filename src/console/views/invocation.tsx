/**
 * One invocation in words: what it did, who called for whom, what it cost, who approved it. Then every entry about it.
 *
 * @module
 */

import { personOf } from '../../domain/decision/values.ts';
import { titleOf } from '../../domain/sign-in/consent-words.ts';
import { spanWords } from '../../domain/values/time-words.ts';
import { visibleText } from '../../domain/wire/visible-text.ts';
import type { ApprovalRequest } from '../../protocol/approval.ts';
import type { AuditEntry } from '../../protocol/audit.ts';
import type { Act, Invocation } from '../../protocol/console/views.ts';
import type { Hand } from '../../protocol/decision.ts';
import { ask } from '../api.ts';
import {
  Ago,
  Amount,
  Chain,
  Claimed,
  Code,
  Fact,
  Hash,
  Left,
  Pill,
  Shown,
} from '../parts/elements.tsx';
import { Empty, Failed, type Loaded, Loading, useLoaded } from '../parts/loaded.tsx';
import { Evidence, Row } from '../parts/panels.tsx';
import { useTitle } from '../parts/title.ts';
import { Value } from '../parts/words.tsx';
import { hrefOf } from '../router.ts';
import { VerifyLink } from './activity/entry-fields.tsx';
import { EntryOutcome, EntryTable, Who } from './activity/entry-row.tsx';
import { CALLS, everyStep, type Step } from './activity/story.ts';
import { Steps, StoryTitle } from './activity/story-row.tsx';
import type { Words } from './activity/words.ts';
import { counted } from './counted.ts';

export function InvocationPage({ id }: { readonly id: string }) {
  const loaded = useLoaded(() => ask('activity.invocation', { invocation_id: id }), [id]);
  return (
    <>
      {loaded.state === 'loading' ? <Pending /> : null}
      {loaded.state === 'failed' ? <Missing of={loaded} /> : null}
      {loaded.state === 'ready' ? <Whole of={loaded.value} again={loaded.again} /> : null}
    </>
  );
}

function Pending() {
  return (
    <>
      <h1>Invocation</h1>
      <Loading what="the invocation" />
    </>
  );
}

function Missing({ of }: { readonly of: Extract<Loaded<Invocation>, { state: 'failed' }> }) {
  const isUnknown = of.failure?.type === 'not_found';
  return (
    <>
      <h1>Invocation</h1>
      {isUnknown ? (
        <Empty>
          The log has no entry of this invocation that you may see. A call appears when it has
          ended. An operator with the scope operator:audit sees the calls of everyone.{' '}
          <button type="button" class="text" onClick={of.again}>
            Look again
          </button>
        </Empty>
      ) : (
        <Failed what="The invocation" why={of.why} again={of.again} />
      )}
    </>
  );
}

function Whole({ of, again }: { readonly of: Invocation; again(): void }) {
  const call = callOf(of.entries);
  const name = call?.capability ?? undefined;
  useTitle(`${name === undefined ? 'Invocation' : visibleText(titleOf(name))} · Activity`);
  if (!call) return null;
  return (
    <>
      <div class="head">
        <h1>
          <StoryTitle of={{ entries: of.entries, head: call, isRepeated: false }} />
        </h1>
        <button type="button" class="text" onClick={again}>
          Load again
        </button>
      </div>
      <Facts of={of} call={call} />
      <section aria-labelledby="h-story">
        <h2 id="h-story">What happened</h2>
        <Steps of={stepsIn(of, call)} />
        <ApprovalOf of={of} call={call} />
      </section>
      <Lineage of={of} />
      <section aria-labelledby="h-entries">
        <h2 id="h-entries">{counted(of.entries.length, 'entry', 'entries')} in the log</h2>
        <EntryTable of={of.entries} />
      </section>
      <Ids of={of} call={call} />
    </>
  );
}

/** The entry that says how it ended: of the call itself, not of an operator's later act. */
function callOf(entries: readonly AuditEntry[]): AuditEntry | undefined {
  return entries.find(({ entry_type }) => CALLS.has(entry_type)) ?? entries[0];
}

/** Those of the entries and, where the person may see the request, those of its approval. */
function stepsIn({ entries, request }: Invocation, call: AuditEntry): Step[] {
  const own = everyStep(entries, call);
  if (!request) return own;
  const { approvals, created_at, decided_at, decided_by, reason, status } = request;
  const by = (principal: string) => ({ text: principal, kind: 'principal' }) as const;
  const why: Words = reason === null ? [] : [': ', { text: reason, kind: 'text' }];
  const asked: Step[] = [
    { icon: 'agent', words: ['asked'], at: created_at, isBad: false },
    ...approvals.map(({ approver, approved_at }) => {
      const words: Words = [by(approver), ' approved'];
      return { icon: 'check' as const, words, at: approved_at, isBad: false };
    }),
    ...(status === 'denied' && decided_by !== null && decided_at !== null
      ? [
          {
            icon: 'cross' as const,
            words: [by(decided_by), ' denied it', ...why],
            at: decided_at,
            isBad: true,
          },
        ]
      : []),
  ];
  return [...asked, ...own.filter(({ icon }) => icon !== 'agent')].sort((one, other) =>
    one.at.localeCompare(other.at),
  );
}

function Facts({ of, call }: { readonly of: Invocation; readonly call: AuditEntry }) {
  const { capability, cost_actual, upstream_service } = call;
  const chain = of.chain.map(({ principal }) => principal).reverse();
  return (
    <dl class="facts brief">
      <Fact term="Result" is={<EntryOutcome entry={call} />} />
      <Fact term="Called by" is={chain.length > 0 ? <Chain of={chain} /> : <Who entry={call} />} />
      <Fact term="When" is={<Ago at={call.timestamp} />} />
      <Fact term="Cost" is={cost_actual ? <Amount of={cost_actual} /> : 'nothing charged'} />
      {capability === null ? null : (
        <Fact term="Capability">
          <a href={hrefOf('capabilities', capability)}>
            <Code text={capability} />
          </a>
          , <a href={hrefOf('activity', undefined, { capability })}>all its entries</a>
        </Fact>
      )}
      <TextFact term="Reference" text={call.client_reference_id} filter="client_reference_id" />
      <TextFact term="Task" text={call.task_id} filter="task_id" />
      {upstream_service === null ? null : (
        <Fact term="Upstream" is={<Code text={upstream_service} />} />
      )}
    </dl>
  );
}

interface TextFactProps {
  readonly term: string;
  readonly text: string | null;
  /** By which the log finds other entries with the same text. */
  readonly filter: string;
}

function TextFact({ term, text, filter }: TextFactProps) {
  if (text === null) return null;
  return (
    <Fact term={term}>
      <a href={hrefOf('activity', undefined, { [filter]: text })}>
        <Code text={text} />
      </a>
    </Fact>
  );
}

function Lineage({ of: { chain, parent, children } }: { readonly of: Invocation }) {
  return (
    <section aria-labelledby="h-lineage">
      <h2 id="h-lineage">Through whose hands</h2>
      {chain.length > 0 ? <Hands of={chain} /> : <p>The tokens of this call are not known.</p>}
      {parent === null ? null : (
        <p>
          Part of{' '}
          <a href={hrefOf('activity', parent)}>
            <Code text={parent} />
          </a>
        </p>
      )}
      {children.length > 0 ? <Children of={children} /> : null}
    </section>
  );
}

const STATES = {
  active: ['good', 'Active'],
  expired: ['off', 'Expired'],
  revoked: ['off', 'Ended'],
  unknown: ['warn', 'Unknown'],
} as const satisfies Record<Hand['state'], readonly [string, string]>;

/** Root first, as authority was passed on. */
function Hands({ of }: { readonly of: readonly Hand[] }) {
  return (
    <ol class="list">
      {of.map(({ principal, token_id, client_name, purpose, state }) => (
        <Row
          key={`${principal} ${token_id}`}
          {...(token_id !== null && { href: hrefOf('agents', token_id) })}
          icon={token_id === null ? 'person' : 'agent'}
          title={<Shown text={personOf(principal)} />}
          side={<Pill state={STATES[state][0]}>{STATES[state][1]}</Pill>}
        >
          {client_name === null ? null : (
            <p>
              calls itself <Claimed name={client_name} />
            </p>
          )}
          {purpose === null || Object.keys(purpose).length === 0 ? null : (
            <p>
              purpose <Value of={purpose} />
            </p>
          )}
        </Row>
      ))}
    </ol>
  );
}

function Children({ of }: { readonly of: readonly Act[] }) {
  return (
    <>
      <h3>{counted(of.length, 'call')} inside it</h3>
      <ul class="list">
        {of.map(({ invocation_id, capability, success, failure_type, cost, timestamp }) => (
          <Row
            key={`${invocation_id} ${timestamp}`}
            {...(invocation_id !== null && { href: hrefOf('activity', invocation_id) })}
            icon="tool"
            title={<Code text={capability ?? invocation_id ?? 'unnamed'} />}
            side={<Pill state={success ? 'good' : 'danger'}>{success ? 'Done' : 'Not done'}</Pill>}
          >
            <p>
              {failure_type === null ? null : <code>{failure_type}</code>}{' '}
              {cost ? <Amount of={cost} /> : null} <Ago at={timestamp} />
            </p>
          </Row>
        ))}
      </ul>
    </>
  );
}

interface OfCall {
  readonly of: Invocation;
  readonly call: AuditEntry;
}

const REQUEST_STATES = {
  pending: ['warn', 'Waits'],
  approved: ['good', 'Approved'],
  denied: ['danger', 'Denied'],
  expired: ['off', 'Expired'],
} as const satisfies Record<ApprovalRequest['status'], readonly [string, string]>;

/** How it was approved: the request, and what the grant allows. */
function ApprovalOf({ of: { request }, call }: OfCall) {
  const requestId = request?.approval_request_id ?? call.approval_request_id;
  if (requestId === null) {
    return call.approval_grant_id === null ? <p>The call asked for no approval.</p> : null;
  }
  const link = <a href={hrefOf('approvals', requestId)}>Its request</a>;
  if (!request) return <p>{link} was sent to its approvers, who can see it.</p>;
  const { status, approvals, approvals_required, expires_at, terms } = request;
  return (
    <p>
      {link} <Pill state={REQUEST_STATES[status][0]}>{REQUEST_STATES[status][1]}</Pill>{' '}
      {status === 'pending' ? <Left until={expires_at} /> : null} {approvals.length} of{' '}
      {counted(approvals_required, 'approval')}
      {terms
        ? `, for one ${terms.grant_type === 'one_time' ? 'call' : 'session'}, ${counted(terms.max_uses, 'use')}, within ${spanWords(terms.expires_in_seconds * 1_000)}`
        : null}
      .
    </p>
  );
}

function Ids({ of: { invocation_id, chain, request }, call }: OfCall) {
  const ids = [
    ['Invocation', invocation_id],
    ...chain.flatMap(({ principal, token_id }) =>
      token_id === null ? [] : [[`Token of ${personOf(principal)}`, token_id]],
    ),
    ['Request', request?.approval_request_id ?? call.approval_request_id],
    ['Grant', call.approval_grant_id ?? request?.grant_id],
  ];
  return (
    <Evidence result="ids and proof">
      <dl class="facts wide">
        {ids.map(([term, id]) =>
          id ? (
            <Fact key={id} term={<Shown text={term ?? ''} />}>
              <code>{id}</code>
            </Fact>
          ) : null,
        )}
        {call.parameters_digest === null ? null : (
          <Fact term="Parameters">
            <Hash hex={call.parameters_digest} what="the digest of the parameters" />
          </Fact>
        )}
      </dl>
      <VerifyLink entry={call} />
    </Evidence>
  );
}
