/**
 * Strangers: how fast requests may come from one network before the caller is known.
 *
 * Every request is charged to its network. When the caller turns out to be known, the charge is returned,
 * because its principal is counted instead: many callers may share one address. So only anonymous requests
 * and wrong credentials use up the allowance of an address. While it is used up, a credential that was good
 * before, that the configuration has or that the service just issued is still accepted, so that a flood does
 * not lock out callers at the same address.
 *
 * A credential that is not known yet may have a bad signature, and verifying it takes longer than anything else that
 * a stranger can ask for. So their number has a bound of its own for each network, much lower. Beyond it a request
 * waits before it is refused, so that a client that asks again and again asks slowly.
 *
 * @module
 */

import { createPacer } from '../../domain/invocation/rate.ts';
import { createRecent } from '../../domain/values/recent.ts';
import { pause } from '../../platform.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { Runtime } from '../../service/runtime.ts';
import { type Eventual, run, type Steps, wait } from '../../steps.ts';
import { createAddresses } from './address.ts';

/** Characters of all credentials that are remembered, at about one byte each. */
const REMEMBERED_LENGTH_MAX = 8 * 1_048_576;

const UNAUTHORIZED = 401;

/** Credentials that are not known yet, from one network: so many at once, and half of that a second. */
const UNKNOWN_RATE = { limit: 200, window: 'PT2S' };

/** In milliseconds: how long a further one waits. */
const UNKNOWN_WAIT_MS = 1_000;

/** Requests that wait so at the same time, at a few kilobytes each. Others are refused at once. */
const WAITING_MAX = 1_000;

export interface Visit {
  readonly network: string;
  readonly authorization: string | undefined;
  /** Charged to the network; otherwise accepted because of its credential alone. */
  readonly isCharged: boolean;
  /** Its credential was good before, or is configured. */
  readonly isKnown: boolean;
  /** Counted among the credentials that are not known. */
  readonly isUnknown: boolean;
  /** Its credential was looked at: unless it is proved, it was wrong, whatever the status of the answer. */
  isJudged: boolean;
  isProved: boolean;
}

/** What a request shows of its sender before its caller is known. */
interface Visitor {
  readonly remoteAddress: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Visits {
  /** Counts a request, or returns why it is refused. A request that has to wait is counted afterwards. */
  begin(visitor: Visitor): Eventual<Visit | Failure>;
  /** Counts the signed text in a form as a credential that is not known, good or not. Returns why it is refused. */
  judgeForm(visit: Visit | null): Failure | undefined;
  /** Its credential is looked at now. */
  judge(visit: Visit | null): void;
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
  const unknown = createPacer('the address, for credentials that are not known,', UNKNOWN_RATE);
  let waiting = 0;
  const { clientOf } = createAddresses(config.trusted_proxies);
  const good = createRecent<string, boolean>(REMEMBERED_LENGTH_MAX, ({ length }) => length);
  const isGood = (authorization: string) =>
    good.get(authorization) === true || isConfigured(authorization.replace(/^Bearer /i, ''));
  /** Counts a credential that is not known yet, after a wait where there are too many. */
  function* counted(network: string): Steps<Failure | undefined> {
    const found = unknown.take(network, platform.monotonic());
    if (!found || waiting >= WAITING_MAX) return found;
    waiting += 1;
    yield* wait(pause(platform, UNKNOWN_WAIT_MS));
    waiting -= 1;
    return unknown.take(network, platform.monotonic());
  }
  function* admitted(visit: Visit): Steps<Visit | Failure> {
    return (yield* counted(visit.network)) ?? visit;
  }
  return {
    begin({ remoteAddress, headers }) {
      const network = clientOf(remoteAddress, headers['x-forwarded-for']);
      // Node joins or drops a repeated one; its text is only compared with credentials that were good.
      const authorization = headers.authorization as string | undefined;
      const found = pacer.take(network, platform.monotonic());
      const isKnown = authorization !== undefined && isGood(authorization);
      if (found && !isKnown) return found;
      const isUnknown = authorization !== undefined && !isKnown;
      const counts = { isCharged: !found, isKnown, isUnknown };
      const visit = { network, authorization, ...counts, isJudged: false, isProved: false };
      return isUnknown ? run(admitted(visit)) : visit;
    },
    judgeForm: (visit) => (visit ? unknown.take(visit.network, platform.monotonic()) : undefined),
    judge(visit) {
      if (visit) visit.isJudged = true;
    },
    prove(visit, issued) {
      if (issued !== undefined) good.set(`Bearer ${issued}`, true);
      if (!visit || visit.isProved) return;
      const { network, authorization, isCharged, isKnown, isUnknown } = visit;
      visit.isProved = true;
      if (isCharged) pacer.giveBack(network);
      if (isUnknown) unknown.giveBack(network);
      // The app around the service may know a caller that presents no credential.
      if (authorization === undefined) return;
      if (!isKnown || !good.get(authorization)) good.set(authorization, true);
    },
    end({ network, isKnown, isUnknown, isJudged, isProved, authorization }, status) {
      if (isProved) return;
      // What nothing looked at may be good: a document needs no credential.
      if (isUnknown && !isJudged) unknown.giveBack(network);
      // It was good and is no longer: from now on it counts like any other.
      if (status === UNAUTHORIZED && isKnown && authorization !== undefined) {
        good.set(authorization, false);
      }
    },
  };
}
