/**
 * Office supplies: agents look items up and order them. An order above 100 EUR waits for a person.
 *
 * @module
 */

import { createService, defineCapability, eur } from 'writ';

/** In EUR. */
const PRICES = { paper: 5, lamp: 35, chair: 180 };

const ITEM = { name: 'item', type: 'string', allowed_values: ['paper', 'lamp', 'chair'] } as const;

const lookUpItem = defineCapability({
  name: 'look_up_item',
  description: 'Look up the price of an item',
  inputs: [ITEM],
  side_effect: 'read',
  minimum_scope: ['supplies.read'],
  handler: ({ item }) => ({ item, price: eur(PRICES[item]) }),
});

let orders = 0;

const orderItem = defineCapability({
  name: 'order_item',
  description: 'Order items for the office',
  // What the approver reads, with the values of the call.
  title: 'Order {count} of {item}',
  inputs: [ITEM, { name: 'count', type: 'integer', allowed_values: [1, 2, 5] }],
  side_effect: 'irreversible',
  minimum_scope: ['supplies.order'],
  // The budget of a token is charged with the price of each call, before the handler runs.
  cost: { certainty: 'estimated', financial: { currency: 'EUR', range_min: 5, range_max: 900 } },
  price: ({ item, count }) => eur(PRICES[item] * count),
  approval: {
    when: { amount_above: 100 },
    preview: ({ item, count }) => ({ order: item, count }),
  },
  handler({ item, count }) {
    // Call your supplier here.
    orders += 1;
    return { order_id: `order-${orders}`, item, count };
  },
});

export const service = createService({ id: 'starter', capabilities: [lookUpItem, orderItem] });
