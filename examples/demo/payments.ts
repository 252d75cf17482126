/**
 * The payments server of the demo: an MCP server over standard input and output that knows no governance.
 *
 * It pays every call that reaches it. What an agent may do is decided by the guard in front of it. The books are in
 * memory: each start begins with the same invoices, and no money moves.
 *
 * @module
 */

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

interface Invoice {
  readonly invoice: string;
  readonly from: string;
  readonly amount: number;
  paid: boolean;
}

const invoices: Invoice[] = [
  { invoice: 'INV-7', from: 'Lamp & Sons', amount: 200, paid: false },
  { invoice: 'INV-8', from: 'Desk Rental', amount: 200, paid: false },
  { invoice: 'INV-9', from: 'Coffee Club', amount: 20, paid: false },
];

/** What was paid and is not refunded yet, by the id of the payment. */
const payments = new Map([['PAY-1', 80]]);

const amount = z.number().positive().describe('USD');

serveStdio(() => {
  const server = new McpServer({ name: 'payments', version: '1.0.0' });

  server.registerTool(
    'list_invoices',
    {
      title: 'List invoices',
      description: 'The invoices, and which of them are paid',
      annotations: { readOnlyHint: true },
    },
    () => answer({ invoices }),
  );

  server.registerTool(
    'pay_invoice',
    {
      title: 'Pay invoice',
      description: 'Pays an invoice from the account of the company',
      inputSchema: z.object({ invoice: z.string(), amount }),
    },
    (given) => {
      const found = invoices.find(({ invoice }) => invoice === given.invoice);
      if (!found) return refusal(`there is no invoice ${given.invoice}`);
      if (found.paid) return refusal(`${found.invoice} is paid`);
      if (found.amount !== given.amount) return refusal(`${found.invoice} is ${found.amount} USD`);

      found.paid = true;
      const payment = `PAY-${payments.size + 1}`;
      payments.set(payment, given.amount);
      return answer({ payment, paid: given.amount, to: found.from });
    },
  );

  server.registerTool(
    'refund_payment',
    {
      title: 'Refund payment',
      description: 'Sends a payment, or a part of it, back to the customer',
      inputSchema: z.object({ payment: z.string(), amount }),
    },
    (given) => {
      const left = payments.get(given.payment) ?? 0;
      if (left < given.amount) return refusal(`${left} USD of ${given.payment} can be refunded`);

      payments.set(given.payment, left - given.amount);
      return answer({ refunded: given.amount, of: given.payment });
    },
  );
  return server;
});

function answer(content: Record<string, unknown>) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(content) }],
    structuredContent: content,
  };
}

function refusal(reason: string) {
  return { content: [{ type: 'text' as const, text: `Cannot do it: ${reason}` }], isError: true };
}
