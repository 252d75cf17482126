/** A shop: look an order up, ship it at a price, refund it once a person has approved. @module */

import { createService, defineCapability, serve } from 'writ';
import * as z from 'zod';

const Order = z.object({ order_id: z.string().min(1) });
const look = defineCapability({
  name: 'look_up_order', description: 'Look up an order',
  inputs: Order, side_effect: 'read', minimum_scope: ['shop.read'],
  handler: ({ order_id }) => ({ order_id, state: 'paid' }),
});
const ship = defineCapability({
  name: 'ship_order', description: 'Ship an order by express', cost: { currency: 'USD', amount: 9.5 },
  inputs: Order, side_effect: 'irreversible', minimum_scope: ['shop.ship'],
  handler: ({ order_id }) => ({ parcel_id: `P-${order_id}` }),
});
const refund = defineCapability({
  name: 'refund_order', description: 'Pay an order back', approval: { when: 'always' },
  inputs: Order.extend({ amount: z.number().min(1).max(500) }), side_effect: 'irreversible', minimum_scope: ['shop.refund'],
  handler: ({ order_id, amount }) => ({ order_id, refunded: amount }),
});
const shop = createService({ id: 'shop', capabilities: [look, ship, refund] });
const person = (name: string, scope: string) => ({ key: `demo-${name}-key`, principal: `human:${name}`, scopes: [scope], demo: true });
const { url } = await serve(shop, { settings: { identities: [person('ann', 'shop.*'), person('bob', 'approver:*')] } });
console.log(`The shop is at ${url}`);
