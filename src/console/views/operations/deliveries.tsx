/**
 * Notifications: the state of each notification about an approval.
 *
 * @module
 */

import type { Delivery } from '../../../protocol/operator.ts';
import { Ago, Code, Pill, Shown } from '../../parts/elements.tsx';
import { Ready } from '../../parts/loaded.tsx';
import { Fold, Row } from '../../parts/panels.tsx';
import { hrefOf } from '../../router.ts';
import { type Answers, lastOf } from './answers.ts';
import { Paged } from './turning.tsx';

const STATES = {
  failed: { pill: 'danger', words: 'Failed' },
  pending: { pill: 'warn', words: 'Waits' },
  delivered: { pill: 'good', words: 'Delivered' },
} as const satisfies Record<Delivery['state'], object>;

const ORDER = Object.keys(STATES);

export function Deliveries({ of }: { readonly of: Answers['deliveries'] }) {
  const all = lastOf(of)?.deliveries;
  return (
    <Fold title="Notifications" icon="mail" state={all && (all.length === 0 ? 'none' : all.length)}>
      <Ready of={of} what="The list of notifications">
        {(answer) => <DeliveryList of={answer?.deliveries ?? []} />}
      </Ready>
    </Fold>
  );
}

function DeliveryList({ of: deliveries }: { readonly of: readonly Delivery[] }) {
  if (deliveries.length === 0) {
    return (
      <p>None. The service sends notifications when its settings name a webhook for approvals.</p>
    );
  }
  const byState = deliveries.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  return (
    <Paged what="notifications" items={byState}>
      {(page) => (
        <ul class="list">
          {page.map((delivery) => (
            <DeliveryRow key={delivery.delivery_id} of={delivery} />
          ))}
        </ul>
      )}
    </Paged>
  );
}

function DeliveryRow({ of }: { readonly of: Delivery }) {
  const { event, approval_request_id, target, state, attempts, last_error } = of;
  return (
    <Row
      icon="mail"
      href={hrefOf('approvals', approval_request_id)}
      title={`Approval ${event}`}
      side={<Pill state={STATES[state].pill}>{STATES[state].words}</Pill>}
    >
      <p>
        To <Code text={target} /> · {attempts === 1 ? '1 attempt' : `${attempts} attempts`} ·{' '}
        <When of={of} />
      </p>
      {last_error === null ? null : (
        <p>
          The last failed: <Shown text={last_error} />
        </p>
      )}
    </Row>
  );
}

function When({ of: { delivered_at, next_attempt_at } }: { readonly of: Delivery }) {
  if (delivered_at !== null) return <Ago at={delivered_at} />;
  if (next_attempt_at === null) return <>no further attempt</>;
  return (
    <>
      next attempt <Ago at={next_attempt_at} />
    </>
  );
}
