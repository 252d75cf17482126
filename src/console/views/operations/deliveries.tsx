/**
 * Deliveries: the state of each notification about an approval.
 *
 * @module
 */

import type { Delivery } from '../../../protocol/operator.ts';
import { ask } from '../../api.ts';
import { Ago, Code, Pill, Shown } from '../../parts/elements.tsx';
import { Empty, Ready, useLoaded } from '../../parts/loaded.tsx';
import { hrefOf } from '../../router.ts';
import { growth } from '../growth.ts';
import { Paged } from './turning.tsx';

const STATES = {
  failed: { pill: 'danger', words: 'Failed' },
  pending: { pill: 'warn', words: 'Waits' },
  delivered: { pill: 'good', words: 'Delivered' },
} as const satisfies Record<Delivery['state'], object>;

const ORDER = Object.keys(STATES);

export function Deliveries() {
  const loaded = useLoaded(() => ask('operator.deliveries', {}), [growth.value]);
  return (
    <Ready of={loaded} what="The list of deliveries">
      {({ deliveries }) => <DeliveryList of={deliveries} />}
    </Ready>
  );
}

function DeliveryList({ of: deliveries }: { readonly of: readonly Delivery[] }) {
  if (deliveries.length === 0) {
    return (
      <Empty>
        None. The service sends notifications when its settings name a webhook for approvals.
      </Empty>
    );
  }
  const byState = deliveries.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  return (
    <Paged what="deliveries" items={byState}>
      {(page) => (
        <ul>
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
    <li class="node">
      <div>
        <h3>
          Approval {event} <Pill state={STATES[state].pill}>{STATES[state].words}</Pill>
        </h3>
        <p class="small">
          <a href={hrefOf('approvals', approval_request_id)}>
            <code>{approval_request_id}</code>
          </a>
        </p>
      </div>
      <p class="small">
        To <Code text={target} />
      </p>
      <p class="small">
        {attempts === 1 ? '1 attempt' : `${attempts} attempts`}
        {last_error === null ? null : (
          <>
            . The last failed: <Shown text={last_error} />
          </>
        )}
      </p>
      <p class="small">
        <When of={of} />
      </p>
    </li>
  );
}

function When({ of: { delivered_at, next_attempt_at } }: { readonly of: Delivery }) {
  if (delivered_at !== null) return <Ago at={delivered_at} />;
  if (next_attempt_at === null) return <>No further attempt</>;
  return (
    <>
      Next attempt{' '}
      <span class="unit">
        <Ago at={next_attempt_at} />
      </span>
    </>
  );
}
