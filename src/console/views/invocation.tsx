/**
 * One invocation: who called for whom, how it ended, what it cost, who approved it, and every entry about it.
 *
 * @module
 */

import { titleOf } from '../../domain/sign-in/consent-words.ts';
import { spanWords } from '../../domain/values/time-words.ts';
import { visibleText } from '../../domain/wire/visible-text.ts';
import type { ApprovalRequest } from '../../protocol/approval.ts';
import type { AuditEntry } from '../../protocol/audit.ts';
import type { Act, Invocation } from '../../protocol/console/views.ts';
import type { Hand } from '../../protocol/decision.ts';
import { ask, me } from '../api.ts';
import {
  Ago,
  Amount,
  Chain,
  Claimed,
  Code,
  Fact,
  Left,
  Person,
  Pill,
  Shown,
} from '../parts/elements.tsx';
import { Empty, Failed, type Loaded, Loading, useLoaded } from '../parts/loaded.tsx';
import { useTitle } from '../parts/title.ts';
import { Value } from '../parts/words.tsx';
import { hrefOf } from '../router.ts';
import { EntryFields, VerifyLink } from './activity/entry-fields.tsx';
import { EntryOutcome, What, Who } from './activity/entry-row.tsx';
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
  return (
    <>
      <div class="head">
        <h1>{name === undefined ? 'Invocation' : <Shown text={titleOf(name)} />}</h1>
        <button type="button" class="text" onClick={again}>
          Load again
        </button>
      </div>
      {call ? <Facts of={of} call={call} /> : null}
      <Lineage of={of} />
      {call ? <ApprovalOf of={of} call={call} /> : null}
      <Entries of={of.entries} />
    </>
  );
}

/** The entry that says how it ended: of the call itself, not of an operator's later act. */
function callOf(entries: readonly AuditEntry[]): AuditEntry | undefined {
  const isCall = ({ entry_type }: AuditEntry) => CALLS.has(entry_type);
  return entries.find(isCall) ?? entries[0];
}

const CALLS: ReadonlySet<AuditEntry['entry_type']> = new Set([
  'settlement',
  'invocation',
  'compensation',
  'dry_run',
]);

function Facts({ of, call }: { readonly of: Invocation; readonly call: AuditEntry }) {
  const { capability, cost_actual, client_reference_id, task_id, upstream_service } = call;
  const chain = of.chain.map(({ principal }) => principal).reverse();
  return (
    <dl class="facts">
      <Fact term="Outcome" is={<EntryOutcome entry={call} />} />
      <Fact term="Called by" is={chain.length > 0 ? <Chain of={chain} /> : <Who entry={call} />} />
      <Fact term="When" is={<Ago at={call.timestamp} />} />
      <Fact term="Cost" is={cost_actual ? <Amount of={cost_actual} /> : 'nothing charged'} />
      {capability === null ? null : <CapabilityFact name={capability} />}
      <TextFact term="Reference" text={client_reference_id} filter="client_reference_id" />
      <TextFact term="Task" text={task_id} filter="task_id" />
      <TextFact term="Upstream" text={upstream_service} />
      {me.value?.is_anchored ? <Fact term="Proof" is={<VerifyLink entry={call} />} /> : null}
    </dl>
  );
}

function CapabilityFact({ name }: { readonly name: string }) {
  return (
    <Fact term="Capability">
      <a href={hrefOf('capabilities', name)}>
        <Code text={name} />
      </a>{' '}
      <small>
        <a href={hrefOf('activity', undefined, { capability: name })}>all its entries</a>
      </small>
    </Fact>
  );
}

interface TextFactProps {
  readonly term: string;
  readonly text: string | null;
  /** By which the log finds other entries with the same text. */
  readonly filter?: string;
}

function TextFact({ term, text, filter }: TextFactProps) {
  if (text === null) return null;
  const shown = <Code text={text} />;
  return (
    <Fact term={term}>
      {filter === undefined ? (
        shown
      ) : (
        <a href={hrefOf('activity', undefined, { [filter]: text })}>{shown}</a>
      )}
    </Fact>
  );
}

function Lineage({ of: { chain, parent, children } }: { readonly of: Invocation }) {
  return (
    <section aria-labelledby="h-lineage">
      <h2 id="h-lineage">Lineage</h2>
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
    <ol class="rows">
      {of.map(({ principal, token_id, client_name, purpose, state }) => (
        <li key={`${principal} ${token_id}`}>
          <Person of={principal} />{' '}
          {client_name === null ? null : (
            <>
              calls itself <Claimed name={client_name} />{' '}
            </>
          )}
          <Pill state={STATES[state][0]}>{STATES[state][1]}</Pill>
          {token_id === null ? null : (
            <p class="small muted">
              token <code>{token_id}</code>
            </p>
          )}
          {purpose === null || Object.keys(purpose).length === 0 ? null : (
            <p class="small">
              purpose <Value of={purpose} />
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}

function Children({ of }: { readonly of: readonly Act[] }) {
  return (
    <>
      <h3>{counted(of.length, 'call')} inside it</h3>
      <ul class="rows">
        {of.map((act) => (
          <li key={`${act.invocation_id} ${act.timestamp}`}>
            <ChildLink of={act} />{' '}
            <Pill state={act.success ? 'good' : 'danger'}>{act.success ? 'Done' : 'Not done'}</Pill>{' '}
            {act.failure_type === null ? null : <code>{act.failure_type}</code>}{' '}
            {act.cost ? <Amount of={act.cost} /> : null} <Ago at={act.timestamp} />
          </li>
        ))}
      </ul>
    </>
  );
}

function ChildLink({ of: { invocation_id, capability } }: { readonly of: Act }) {
  const name = <Code text={capability ?? invocation_id ?? 'unnamed'} />;
  return invocation_id === null ? name : <a href={hrefOf('activity', invocation_id)}>{name}</a>;
}

function Entries({ of }: { readonly of: readonly AuditEntry[] }) {
  return (
    <section aria-labelledby="h-entries">
      <div class="head">
        <h2 id="h-entries">{counted(of.length, 'entry', 'entries')} in the log</h2>
        <small>newest first</small>
      </div>
      {of.map((entry) => (
        <article key={entry.entry_id} class="stack">
          <h3>
            <What entry={entry} /> <EntryOutcome entry={entry} />
          </h3>
          <EntryFields entry={entry} />
        </article>
      ))}
    </section>
  );
}

interface ApprovalSection {
  readonly of: Invocation;
  readonly call: AuditEntry;
}

/** How an invocation was approved: the request, each decision, and the grant. */
function ApprovalOf({ of: { request }, call }: ApprovalSection) {
  const requestId = request?.approval_request_id ?? call.approval_request_id;
  const grantId = call.approval_grant_id ?? request?.grant_id ?? null;
  return (
    <section aria-labelledby="h-approval">
      <h2 id="h-approval">Approval</h2>
      {requestId === null && grantId === null ? (
        <p>The call asked for no approval.</p>
      ) : (
        <dl class="facts">
          {requestId === null ? null : <RequestFact id={requestId} request={request} />}
          {request ? <Decisions of={request} /> : null}
          {grantId === null ? null : <GrantFact id={grantId} request={request} />}
        </dl>
      )}
    </section>
  );
}

const REQUEST_STATES = {
  pending: ['warn', 'Waits'],
  approved: ['good', 'Approved'],
  denied: ['danger', 'Denied'],
  expired: ['off', 'Expired'],
} as const satisfies Record<ApprovalRequest['status'], readonly [string, string]>;

function RequestFact({ id, request }: { id: string; request: ApprovalRequest | null }) {
  return (
    <Fact term="Request">
      <a href={hrefOf('approvals', id)}>
        <code>{id}</code>
      </a>{' '}
      {request ? (
        <>
          <Pill state={REQUEST_STATES[request.status][0]}>{REQUEST_STATES[request.status][1]}</Pill>{' '}
          {request.status === 'pending' ? <Left until={request.expires_at} /> : null}
        </>
      ) : (
        <small>Its approvers can see it.</small>
      )}
    </Fact>
  );
}

function Decisions({ of }: { readonly of: ApprovalRequest }) {
  const { approvals, approvals_required, decided_by, decided_at, reason, status } = of;
  return (
    <Fact term="Signed">
      {approvals.length} of {counted(approvals_required, 'approval')}
      <ul>
        {approvals.map(({ approver, approved_at }) => (
          <li key={approver}>
            <Person of={approver} /> approved <Ago at={approved_at} />
          </li>
        ))}
        {status === 'denied' && decided_by !== null ? (
          <li>
            <Person of={decided_by} /> denied it{' '}
            {decided_at === null ? null : <Ago at={decided_at} />}
            {reason === null ? null : ': '}
            {reason === null ? null : (
              <q>
                <Shown text={reason} />
              </q>
            )}
          </li>
        ) : null}
      </ul>
    </Fact>
  );
}

function GrantFact({ id, request }: { id: string; request: ApprovalRequest | null }) {
  const terms = request?.terms;
  return (
    <Fact term="Grant">
      <code>{id}</code>{' '}
      {terms ? (
        <small>
          {terms.grant_type === 'one_time' ? 'for one call' : 'for one session'},{' '}
          {counted(terms.max_uses, 'use')}, within {spanWords(terms.expires_in_seconds * 1_000)}
        </small>
      ) : null}
    </Fact>
  );
}
