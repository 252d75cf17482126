/**
 * Checks of the store as a whole: which log is its first, and which retention policies erased entries.
 *
 * @module
 */

import type { Origin } from '../../domain/log/origin.ts';
import type { Store } from './store.ts';

/** One sentence for each fault. Without `configured` the recorded erasures are not checked. */
export async function storeFaults(
  store: Store,
  origins: readonly Origin[],
  configured: readonly string[] | undefined,
): Promise<string[]> {
  const other = originFault(store, origins);
  const erasures = configured ? unconfigured(await store.erasures(), configured) : [];
  return other === undefined ? erasures : [other, ...erasures];
}

/** The store names its first log twice: as its own id and in its list of logs. */
function originFault(
  { logId }: Pick<Store, 'logId'>,
  origins: readonly Origin[],
): string | undefined {
  const [first] = origins;
  if (first?.first === 0 && first.logId === logId) return undefined;
  const listed = first ? `"${first.logId}" at ${first.first}` : 'none';
  return `its own log is "${logId}", the first in its list of logs is ${listed}`;
}

/** Records of erasures by policies that the configuration does not have. */
function unconfigured(
  erasures: ReadonlyMap<string, number>,
  configured: readonly string[],
): string[] {
  return [...erasures]
    .filter(([policy, below]) => below > 0 && !configured.includes(policy))
    .map(
      ([policy, below]) =>
        `entries below ${below} were erased by retention of "${policy}", which is not configured`,
    );
}
