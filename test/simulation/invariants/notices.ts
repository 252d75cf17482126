/**
 * Notices: each reaches its receiver, and counts as delivered only after that.
 *
 * @module
 */

import type { DeliveryRecord } from '../../../src/storage/port/records.ts';
import { broken } from '../broken.ts';
import type { Executed, Method, Subject } from './shadow.ts';
import { DELIVERIES } from './transitions.ts';

export function notices(): Subject {
  const waiting = new Map<string, DeliveryRecord>();
  const received = new Set<string>();
  const adding = Object.entries(DELIVERIES).map(([method, deliveriesOf]) => {
    const read = deliveriesOf as (event: Executed<Method>) => readonly DeliveryRecord[];
    const add = (event: Executed<Method>) => {
      for (const delivery of read(event)) waiting.set(delivery.delivery_id, delivery);
    };
    return [method, add];
  });
  return {
    store: {
      ...(Object.fromEntries(adding) as Subject['store']),
      finishDelivery({ args: [{ delivery_id, state }] }) {
        if (state === 'delivered' && !received.has(delivery_id)) {
          broken(
            'notices',
            `notice "${delivery_id}" counts as delivered, and its receiver never got it`,
          );
        }
        // Its receiver refuses it twice at most, and the service tries for days.
        if (state === 'failed') broken('notices', `notice "${delivery_id}" was given up`);
        if (state === 'delivered') waiting.delete(delivery_id);
      },
    },
    delivery: ({ id }) => void received.add(id),
    atRest() {
      const [left] = waiting.values();
      if (left)
        broken('liveness', `notice "${left.delivery_id}" (${left.event}) was not delivered`);
    },
  };
}
