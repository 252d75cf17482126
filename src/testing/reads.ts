/**
 * What a test reads of a service: entries of the log, spending, bindings.
 *
 * @module
 */

import { entryView } from '../domain/log/entry.ts';
import { fromMinor } from '../domain/values/money.ts';
import type { AuditEntry } from '../protocol/audit.ts';
import type { BindingRecord } from '../storage/port/records.ts';
import type { Store } from '../storage/port/store.ts';
import { matchesEntry, onlyEntry } from './expect.ts';
import type { PinnedBinding, TestedService } from './types.ts';

type Reads = Pick<TestedService, 'entries' | 'expectEntry' | 'spent' | 'expectSpent' | 'binding'>;

export function readsOf(store: Store): Reads {
  const entries: Reads['entries'] = async (filter = {}) => {
    const all = await allEntries(store);
    return all.filter((entry) => matchesEntry(entry, filter));
  };
  const spent: Reads['spent'] = async ({ principal, token }) => {
    const described = await store.describeToken(token.token_id, 0);
    const budget = described?.lineage.at(-1)?.budget;
    if (budget) {
      const { currency, consumed } = budget;
      return { currency, amount: fromMinor(consumed, currency) };
    }
    throw new Error(`Cannot tell what ${principal} spent: its token has no budget; give it one`);
  };
  return {
    entries,
    spent,
    expectEntry: async (filter) => onlyEntry(await allEntries(store), filter),
    async expectSpent(caller, amount) {
      const found = await spent(caller);
      if (found.amount === amount) return;
      const { principal } = caller;
      const { currency } = found;
      throw new Error(
        `Expected ${principal} to have spent ${amount} ${currency}: it spent ${found.amount}`,
      );
    },
    async binding(handle) {
      const { bindings } = await store.load({ tokenId: '', bindingIds: [handle] });
      return bindings[0] && pinned(bindings[0]);
    },
  };
}

function pinned({ type, capability, price, data, issued_at }: BindingRecord): PinnedBinding {
  const money = price && {
    currency: price.currency,
    amount: fromMinor(price.amount, price.currency),
  };
  return { type, capability, price: money, data, issued_at };
}

/** Entries in one read. */
const PAGE = 1_000;

async function allEntries(store: Store): Promise<AuditEntry[]> {
  await store.sequence();
  const all: AuditEntry[] = [];
  for (let before: number | undefined; ; ) {
    const { entries } = await store.queryEntries({ limit: PAGE, before });
    all.push(...entries.map(entryView));
    before = entries.at(-1)?.sequence;
    if (entries.length < PAGE) return all.reverse();
  }
}
