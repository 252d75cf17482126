/**
 * What an executed transition appended to the log and to the notices, by its arguments and its result.
 *
 * @module
 */

import type { EntryRecord } from '../../../src/domain/log/entry.ts';
import type { Overrun } from '../../../src/storage/port/invocation-store.ts';
import type { DeliveryRecord } from '../../../src/storage/port/records.ts';
import { closedBy, type Executed, type Method, type Run, type Shadow } from './shadow.ts';

/** The entries in the order of their places. */
type Entries<Name extends Method> = (
  event: Executed<Name>,
  shadow: Shadow,
) => readonly EntryRecord[];

/** Transitions that append entries. The simulation reaches no other one. */
export const ENTRIES: { readonly [Name in Method]?: Entries<Name> } = {
  insertRoot: ({ args: [, entry] }) => [entry],
  insertChild: ({ args: [, entry], result }) => (result === 'inserted' ? [entry] : []),
  insertIdentity: ({ args: [, entry], result }) => (result === 'inserted' ? [entry] : []),
  revokeToken: made,
  reconcile: (event) => [...made(event), ...frozenBy(event.args[3]?.overrun)],
  expireApprovals: made,
  settle: (event, shadow) =>
    closedBy(shadow, event) ? [event.args[0].entry, ...frozenBy(event.args[0].overrun)] : [],
  append: ({ args: [entries, , overrun] }) => [...entries, ...frozenBy(overrun)],
  endStep: (event, shadow) => {
    const [, , { entry, overrun }] = event.args;
    return endedBy(shadow, event) ? [...(entry ? [entry] : []), ...frozenBy(overrun)] : [];
  },
  requestApproval: (event) => (isRequested(event) ? [event.args[1]] : []),
  approve: ({ args: [{ entry }], result }) =>
    result === 'approved' || result === 'counted' ? [entry] : [],
  deny: ({ args: [{ entry }], result }) => (result === 'denied' ? [entry] : []),
  freeze: ({ args: [, entry], result }) => (result === 'frozen' ? [entry] : []),
  unfreeze: ({ args: [, entry], result }) => (typeof result === 'boolean' ? [entry] : []),
};

/** The notices that a transition stored. */
export const DELIVERIES: {
  readonly [Name in Method]?: (event: Executed<Name>) => readonly DeliveryRecord[];
} = {
  requestApproval: (event) => (isRequested(event) ? event.args[2] : []),
  approve: ({ args: [{ deliveries }], result }) =>
    result === 'approved' || result === 'counted' ? deliveries : [],
  deny: ({ args: [{ deliveries }], result }) => (result === 'denied' ? deliveries : []),
  expireApprovals: ({ deliveries = [] }) => deliveries,
};

/** The entries that the service made while the store ran the transition. */
function made({ entries = [] }: { readonly entries?: readonly EntryRecord[] | undefined }) {
  return entries;
}

function frozenBy(overrun: Overrun | undefined): EntryRecord[] {
  return overrun?.freeze ? [overrun.freeze.entry] : [];
}

/** Whether the request is a new one. */
export function isRequested({ args: [request], result }: Executed<'requestApproval'>): boolean {
  if (typeof result !== 'object' || 'exceeded' in result) return false;
  return result.approval_request_id === request.approval_request_id;
}

/** The run that this transition ends; undefined where it repeats that or changes nothing. */
export function endedBy(
  shadow: Shadow,
  { args: [step], result }: Executed<'endStep'>,
): Run | undefined {
  const run = result ? shadow.runs.get(step.invocation_id) : undefined;
  return run?.outcome === undefined ? run : undefined;
}

/** The overrun of a settlement that closes its call. */
export function overrunOf(shadow: Shadow, event: Executed<'settle'>): Overrun | undefined {
  return closedBy(shadow, event) && event.args[0].overrun;
}
