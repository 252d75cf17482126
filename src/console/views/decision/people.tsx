/**
 * The people and agents behind a request: through whose hands the authority came, whose budgets pay, and what was
 * decided before.
 *
 * @module
 */

import type { BudgetAfter, Decision, Hand, HistoryItem } from '../../../protocol/console/views.ts';
import { isMe } from '../../me.ts';
import { BudgetBar } from '../../parts/budget.tsx';
import { Empty } from '../../parts/loaded.tsx';
import { Amount } from '../../parts/money.tsx';
import { Claimed, Person, personOf } from '../../parts/name.tsx';
import { Pill } from '../../parts/pill.tsx';
import { Shown } from '../../parts/shown.tsx';
import { Ago } from '../../parts/time.tsx';
import { countOf, Value } from '../../parts/value.tsx';
import { hrefOf } from '../../router.ts';
import { hasKnownBudgets, hasKnownPast } from './claims.ts';
import { Part } from './part.tsx';

export function Hands({ of }: { readonly of: Decision }) {
  const { chain } = of;
  return (
    <Part
      name="hands"
      title="Through whose hands"
      aside="from the person to the agent"
      expects={{ selector: 'ol > li', count: Math.max(1, chain.length) }}
    >
      <ol class="rows">
        {chain.length > 0 ? (
          chain.map((hand) => <HandRow key={hand.principal} of={hand} />)
        ) : (
          <li>The chain is not known: the request is of an older version of the service.</li>
        )}
      </ol>
    </Part>
  );
}

const HAND_STATES = {
  active: { state: 'good', words: 'Active' },
  expired: { state: 'off', words: 'Expired' },
  revoked: { state: 'danger', words: 'Revoked' },
  unknown: { state: 'warn', words: 'Not known' },
} as const;

function HandRow({
  of: { principal, client_name, purpose, state, token_id },
}: {
  readonly of: Hand;
}) {
  const pill = HAND_STATES[state];
  return (
    <li>
      <Person of={principal} /> {isMe(principal) ? <small>you</small> : null}{' '}
      {token_id === null ? null : <Pill state={pill.state}>{pill.words}</Pill>}{' '}
      {client_name === null ? null : (
        <small>
          calls itself <Claimed name={client_name} />
        </small>
      )}
      {purpose === null || Object.keys(purpose).length === 0 ? null : (
        <p class="small">
          Purpose: <Value of={purpose} />
        </p>
      )}
    </li>
  );
}

export function Budgets({ of }: { readonly of: Decision }) {
  const { budgets, cost } = of;
  const title = budgets.length === 1 ? 'The budget after this call' : 'Budgets after this call';
  return (
    <Part
      name="budgets"
      title={title}
      aside={
        cost ? (
          <>
            the call takes at most <Amount of={cost} />
          </>
        ) : undefined
      }
      expects={{ selector: 'figure', count: budgets.length }}
    >
      {hasKnownBudgets(of) ? null : (
        <Empty>Not known: the token by which the agent asked cannot be read.</Empty>
      )}
      {budgets.length === 0 && hasKnownBudgets(of) ? (
        <Empty>
          No budget limits this call. A limit is set when authority is given to an agent.
        </Empty>
      ) : null}
      {budgets.map((budget) => (
        <Budget key={budget.token_id} of={budget} cost={cost} />
      ))}
      {cost === null ? (
        <p class="small muted">What the call takes is not known beforehand.</p>
      ) : null}
    </Part>
  );
}

function Budget({ of, cost }: { readonly of: BudgetAfter; readonly cost: Decision['cost'] }) {
  return (
    <>
      <BudgetBar
        of={of}
        cost={cost ?? undefined}
        label={personOf(of.principal)}
        heading={<Person of={of.principal} />}
      />
      {(of.left_after ?? 0) < 0 ? (
        <p class="bad">The call does not fit into this budget: it would be refused.</p>
      ) : null}
      {cost && cost.currency !== of.currency ? (
        <p class="small muted">This budget is in another currency than the call.</p>
      ) : null}
    </>
  );
}

export function Past({ of }: { readonly of: Decision }) {
  const { history, request } = of;
  const { items, is_complete } = history;
  const agent = <Shown text={personOf(request.requester.subject)} />;
  const isFirst = items.length === 0 && is_complete;
  const count = `${is_complete ? '' : 'more than '}${countOf(items.length, 'time')} before`;
  return (
    <Part
      name="history"
      title={
        hasKnownPast(of) ? (
          <>
            {isFirst ? 'First request of ' : ''}
            {agent} {isFirst ? '' : `asked ${count}`}
          </>
        ) : (
          'What was asked before'
        )
      }
      aside={is_complete || items.length === 0 ? undefined : 'The newest; there are older ones'}
      expects={{ selector: 'tbody tr', count: items.length }}
    >
      {items.length === 0 ? (
        <Empty>
          {isFirst
            ? 'It has not asked for this capability before.'
            : 'Not known: the request is of an older version of the service.'}
        </Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Asked</th>
              <th scope="col">Decided</th>
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <PastRow key={item.approval_request_id} of={item} />
            ))}
          </tbody>
        </table>
      )}
    </Part>
  );
}

function PastRow({ of }: { readonly of: HistoryItem }) {
  return (
    <tr>
      <td>
        <a href={hrefOf('approvals', of.approval_request_id)}>
          <Ago at={of.created_at} />
        </a>
        {of.parameters ? (
          <details>
            <summary>
              {of.cost ? <Amount of={of.cost} /> : null}
              {of.cost ? ', ' : ''}
              {countOf(Object.keys(of.parameters).length, 'parameter')}
            </summary>
            <Value of={of.parameters} />
          </details>
        ) : (
          <p class="small">
            {of.cost ? <Amount of={of.cost} /> : null}
            {of.cost ? ', ' : ''}
            parameters too large to be repeated here; that request has them
          </p>
        )}
      </td>
      <td>
        <Outcome of={of} />
      </td>
    </tr>
  );
}

const OUTCOMES = {
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired',
  pending: 'Not decided',
};

function Outcome({ of: { status, decided_by, reason } }: { readonly of: HistoryItem }) {
  const by = decided_by.map((name) => (isMe(name) ? 'you' : personOf(name))).join(' and ');
  return (
    <>
      {OUTCOMES[status]}
      {by === '' ? '' : ' by '}
      {by === '' ? null : <Shown text={by} />}
      {reason === null ? null : (
        <>
          :{' '}
          <q>
            <Shown text={reason} />
          </q>
        </>
      )}
    </>
  );
}
