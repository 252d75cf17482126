/**
 * Faults: which kinds a run has, how likely each is, and where one strikes.
 *
 * Each run draws its own mix and leaves out about half of the kinds: a fault that needs quiet in other places is
 * found as well as one that needs everything to fail. Where a fault strikes depends on the name of the place and on
 * nothing drawn before, so that a run without one kind has the same faults of the others.
 *
 * @module
 */

import type { Store } from '../../src/storage/port/store.ts';
import type { Chance } from './chance.ts';

/** Each kind with its usual probability at one place. */
const USUAL = {
  /** A store call fails before it happens. In an embedded store: BEGIN, a statement or COMMIT fails. */
  'store-before': 0.012,
  /** A store call happens, and the replica gets an error. */
  'store-after': 0.012,
  /** A store call that happened, or did not, gets no answer for a long time. */
  'store-never': 0.004,
  'store-slow': 0.05,
  /** A replica dies with a store call that happened, or, in an embedded store, between two statements of a transaction. */
  'store-crash': 0.003,
  /** A replica pauses with a store call that happened, for up to two and a half times the silence that recovery waits for. */
  'store-pause': 0.0015,
  /** The leases of one call are never renewed, so another call takes them. */
  lease: 0.4,
  /** The mark of the log fails, before or after it is written. */
  mark: 0.015,
  /** The client does not get the answer. */
  lost: 0.08,
  /** A request arrives twice. */
  duplicate: 0.05,
  /** A handler fails, before or after its effect. */
  handler: 0.3,
  /** A handler ends after its deadline, or when the faults stop. */
  'handler-late': 0.12,
  /** A handler ends before its deadline, and often after a lease that was not renewed. */
  'handler-slow': 0.15,
  /** The replica dies while a handler runs, before or after its effect. */
  'handler-crash': 0.015,
  /** Code of the author between the check of a call and its admission is slow. */
  resolver: 0.15,
  /** The token of a call or of a delegation is revoked while that runs. */
  cut: 0.025,
  /** Receivers of webhooks and witnesses refuse, lie, or never answer. */
  peers: 0.25,
  // The next kinds strike as acts: how many acts of a run are of them.
  crash: 0.06,
  pause: 0.05,
  clock: 0.05,
  'disk-full': 0.03,
} as const;

export type FaultKind = keyof typeof USUAL;
export const FAULT_KINDS = Object.keys(USUAL) as FaultKind[];

/** A kind is in a run with this probability. */
const PRESENT = 0.55;

/** Some runs have few faults, some have many. */
const SCALES = [0.4, 1, 1, 2.5];

export interface Faults {
  /** The kinds that this run has. */
  readonly kinds: readonly FaultKind[];
  /** The probability of a kind at one place; 0 before the faults begin, after they stop, and where the run has none. */
  rate(kind: FaultKind): number;
  /** What happens at a place, by its name. */
  at(place: string): Chance;
  /** Counts that a fault of this kind happened. */
  hit(kind: FaultKind): void;
  /** How often each kind happened. */
  hits(): ReadonlyMap<FaultKind, number>;
  begin(): void;
  stop(): void;
  isOver(): boolean;
}

export function drawFaults(chance: Chance, without: ReadonlySet<FaultKind>): Faults {
  const rates = new Map<FaultKind, number>();
  const scale = chance.fork('scale').pick(SCALES);
  for (const kind of FAULT_KINDS) {
    const isThere = chance.fork(`present ${kind}`).is(PRESENT) && !without.has(kind);
    if (isThere) rates.set(kind, Math.min(0.5, USUAL[kind] * scale));
  }
  const places = chance.fork('places');
  const hits = new Map<FaultKind, number>();
  let isOn = false;
  let isOver = false;
  return {
    kinds: [...rates.keys()],
    rate: (kind) => (isOn ? (rates.get(kind) ?? 0) : 0),
    at: (place) => places.fork(place),
    hit: (kind) => void hits.set(kind, (hits.get(kind) ?? 0) + 1),
    hits: () => hits,
    begin() {
      isOn = true;
    },
    stop() {
      isOn = false;
      isOver = true;
    },
    isOver: () => isOver,
  };
}

/** The methods of a store that change it. */
export const CHANGES: ReadonlySet<keyof Store> = new Set([
  'insertRoot',
  'insertChild',
  'revokeToken',
  'admit',
  'settle',
  'append',
  'renewLeases',
  'releaseLeases',
  'takePermits',
  'heartbeat',
  'forgetKeys',
  'reconcile',
  'beginStep',
  'endStep',
  'adoptComposition',
  'returnComposition',
  'requestApproval',
  'approve',
  'deny',
  'expireApprovals',
  'takeDeliveries',
  'finishDelivery',
  'freeze',
  'unfreeze',
  'voidPromises',
  'keepDeclarations',
  'erase',
  'beginOrigin',
  'insertCheckpoint',
  'insertCosignature',
  'lead',
  'sequence',
  'sealRows',
  'probe',
  'insertIdentity',
  'removeIdentity',
] satisfies (keyof Store)[]);
