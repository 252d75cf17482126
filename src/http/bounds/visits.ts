/**
 * Strangers: how fast requests may come from one network before the caller is known.
 *
 * Every request is charged to its network. When the caller turns out to be known, the charge is returned,
 * because its principal is counted instead: many callers may share one address. So only anonymous requests
 * and wrong credentials use up the allowance of an address. While it is used up, a credential that was good
 * before, that the configuration has or that the service just issued is still accepted, so that a flood does
 * not lock out callers at the same address.
 *
 * @module
 */

import { createPacer } from '../../domain/invocation/rate.ts';
import { createRecent } from '../../domain/values/recent.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { Runtime } from '../../service/runtime.ts';
import { createAddresses } from './address.ts';

/** Characters of all credentials that are remembered, at about one byte each. */
const REMEMBERED_LENGTH_MAX = 8 * 1_048_576;

const UNAUTHORIZED = 401;

export interface Visit {
  readonly network: string;
  readonly authorization: string | undefined;
  /** Charged to the network; otherwise accepted because of its credential alone. */
  readonly isCharged: boolean;
  isProved: boolean;
}

/** What a request shows of its sender before its caller is known. */
interface Visitor {
  readonly remoteAddress: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Visits {
  /** Counts a request, or returns why it is refused. */
  begin(visitor: Visitor): Visit | Failure;
  /** The caller is known, or got the token `issued`. */
  prove(visit: Visit | null, issued?: string): void;
  /** The request is answered with this status. */
  end(visit: Visit, status: number): void;
}

/** `undefined` where the configuration does not limit strangers. */
export function createVisits({
  config,
  isConfigured,
  platform,
}: Pick<Runtime, 'config' | 'isConfigured' | 'platform'>): Visits | undefined {
  if (config.rate_limits !== 'on') return undefined;
  const pacer = createPacer('the address', config.address_rate);
  const { clientOf } = createAddresses(config.trusted_proxies);
  const good = createRecent<string, boolean>(REMEMBERED_LENGTH_MAX, ({ length }) => length);
  const isGood = (authorization: string) =>
    good.get(authorization) === true || isConfigured(authorization.replace(/^Bearer /i, ''));
  return {
    begin({ remoteAddress, headers }) {
      const network = clientOf(remoteAddress, headers['x-forwarded-for']);
      // Node joins or drops a repeated one; its text is only compared with credentials that were good.
      const authorization = headers.authorization as string | undefined;
      const found = pacer.take(network, platform.monotonic());
      if (found && !(authorization !== undefined && isGood(authorization))) return found;
      return { network, authorization, isCharged: !found, isProved: false };
    },
    prove(visit, issued) {
      if (issued !== undefined) good.set(`Bearer ${issued}`, true);
      if (!visit || visit.isProved) return;
      const { network, authorization, isCharged } = visit;
      visit.isProved = true;
      if (isCharged) pacer.giveBack(network);
      // The app around the service may know a caller that presents no credential.
      if (authorization === undefined) return;
      if (!good.get(authorization)) good.set(authorization, true);
    },
    end({ isCharged, isProved, authorization }, status) {
      // The credential was good and is no longer: from now on it counts like any other. Other statuses prove
      // nothing about it: a document needs no credential.
      const isWrong = status === UNAUTHORIZED && !isProved;
      if (!isCharged && isWrong && authorization !== undefined) good.set(authorization, false);
    },
  };
}
