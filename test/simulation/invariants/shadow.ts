/**
 * The shadow state of a run: the tokens and the calls that the executed transitions made.
 *
 * Every subject reads it. It comes from the arguments and results of store calls alone; no row is read. What
 * identifies a requester is computed here from names, not taken from the digest in a record, so that a wrong
 * digest is found.
 *
 * @module
 */

import type { Capability } from '../../../src/protocol/capability.ts';
import type { Admission, Settlement } from '../../../src/storage/port/invocation-store.ts';
import type { Charge, TokenRecord } from '../../../src/storage/port/records.ts';
import { newBudget } from '../../../src/storage/port/row-forms.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import { broken } from '../broken.ts';
import type { ClientEvent, EffectEvent, ReplicaEvent, SimEvent, StoreEvent } from '../events.ts';

export interface CheckerOptions {
  /** What the service declares: policies of compositions, compensations, approvals. */
  readonly capabilities?: ReadonlyMap<string, Capability> | undefined;
  /** How long a process must be silent before others recover its calls, in milliseconds. */
  readonly silentMs?: number | undefined;
  /** The latest time that the clock of the store has shown, in milliseconds. */
  readonly latest?: (() => number) | undefined;
}

/** The methods of the store that return promises. */
export type Method = {
  [Name in keyof Store]-?: Store[Name] extends (...args: never[]) => Promise<unknown>
    ? Name
    : never;
}[keyof Store];

/** A call that the store executed. */
export interface Executed<Name extends Method> extends Omit<StoreEvent, 'args' | 'result'> {
  readonly args: Parameters<Store[Name]>;
  readonly result: Awaited<ReturnType<Store[Name]>>;
}

type Of<Kind extends SimEvent['kind']> = Extract<SimEvent, { kind: Kind }>;

/** One subject of the checker: what each kind of event means for it. Throws `Broken`. */
export interface Subject {
  readonly store?: { readonly [Name in Method]?: (call: Executed<Name>) => void };
  effect?(event: EffectEvent): void;
  ask?(event: ClientEvent): void;
  answer?(event: ClientEvent): void;
  replica?(event: ReplicaEvent): void;
  delivery?(event: Of<'delivery'>): void;
  mark?(event: Of<'mark'>): void;
  witness?(event: Of<'witness'>): void;
  atRest?(store: Store): Promise<void> | void;
}

export interface Budget {
  readonly currency: string;
  readonly max: bigint;
  reserved: bigint;
  consumed: bigint;
}

export interface Token {
  readonly id: string;
  readonly record: TokenRecord;
  /** Root first, itself last. */
  readonly lineage: readonly Token[];
  /** The names from the root principal to the subject, where equal neighbours count once. */
  readonly chain: string;
  readonly exclusive: boolean;
  readonly budget: Budget | undefined;
  isRevoked: boolean;
}

/** One run of a handler: of a call, of a step, or of a compensation. */
export interface Run {
  readonly invocation: string;
  readonly call: Call;
  readonly role: 'call' | 'step' | 'compensation';
  readonly capability: string;
  readonly step?: string | undefined;
  /** How far its handler came; undefined before it begins. */
  phase?: EffectEvent['phase'] | undefined;
  amount?: bigint | undefined;
  /** How the step ended in the store. */
  outcome?: Settlement['outcome'] | undefined;
}

export interface Call {
  readonly id: string;
  readonly replica: number;
  readonly token: Token;
  readonly admission: Admission;
  readonly charge: Charge | undefined;
  /** The process that may continue it. */
  instance: string;
  readonly runs: Run[];
  outcome?: Settlement['outcome'] | undefined;
  entryId?: string | undefined;
  consumed: bigint;
  isReconciled: boolean;
}

export interface Shadow {
  readonly options: CheckerOptions;
  readonly tokens: Map<string, Token>;
  /** By operation id. */
  readonly calls: Map<string, Call>;
  /** By invocation id; a composed call too. */
  readonly invocations: Map<string, Call>;
  /** By invocation id; steps too. */
  readonly runs: Map<string, Run>;
}

export function createShadow(options: CheckerOptions): Shadow {
  return {
    options,
    tokens: new Map(),
    calls: new Map(),
    invocations: new Map(),
    runs: new Map(),
  };
}

export function tokenOf({ tokens }: Shadow, id: string): Token {
  return tokens.get(id) ?? broken('chains', `token "${id}" was never inserted`);
}

export function callOf({ calls }: Shadow, id: string): Call {
  return calls.get(id) ?? broken('intent-first', `operation "${id}" was never admitted`);
}

/** The call that this settlement closes; undefined where it repeats one or changes nothing. */
export function closedBy(
  shadow: Shadow,
  { args: [settlement], result }: Executed<'settle'>,
): Call | undefined {
  if (result !== 'settled') return undefined;
  const call = callOf(shadow, settlement.operation_id);
  if (call.outcome === undefined) return call;
  if (call.entryId === settlement.entry.entry_id) return undefined;
  const earlier = `it was closed before as ${call.outcome}`;
  return broken(
    'closed-once',
    `operation "${call.id}" was closed as ${settlement.outcome}, and ${earlier}`,
  );
}

/** The call that this transition reconciles; undefined where it changes nothing. */
export function reconciledBy(shadow: Shadow, { result }: Executed<'reconcile'>): Call | undefined {
  return typeof result === 'object' ? callOf(shadow, result.operation_id) : undefined;
}

/** First of all subjects: what is new exists for the others. */
export function opening(shadow: Shadow): Subject {
  const chains = new Map<string, string>();
  const insert = (record: TokenRecord, above: readonly Token[]) => {
    const token = newToken(record, above);
    shadow.tokens.set(token.id, token);
    const same = chains.get(record.chain) ?? token.chain;
    if (same !== token.chain) {
      broken('chains', `the chains ${same} and ${token.chain} have one digest`);
    }
    chains.set(record.chain, token.chain);
  };
  return {
    store: {
      insertRoot: ({ args: [record] }) => insert(record, []),
      insertChild({ args: [record], result }) {
        if (result !== 'inserted') return;
        insert(record, tokenOf(shadow, record.parent_token_id ?? '').lineage);
      },
      admit({ replica, args: [admission], result }) {
        if (result.admitted) openCall(shadow, replica, admission);
      },
    },
  };
}

function newToken(record: TokenRecord, above: readonly Token[]): Token {
  const budget = newBudget(record);
  const lineage: Token[] = [...above];
  const names = [record.root_principal, ...above.map(({ record: { subject } }) => subject)];
  const token: Token = {
    id: record.token_id,
    record,
    lineage,
    chain: chainText([...names, record.subject]),
    exclusive: record.concurrent_branches === 'exclusive',
    budget: budget && { ...budget },
    isRevoked: false,
  };
  lineage.push(token);
  return token;
}

function chainText(names: readonly string[]): string {
  return names.filter((name, place) => name !== names[place - 1]).join(' > ');
}

function openCall(shadow: Shadow, replica: number, admission: Admission): void {
  const { intent } = admission;
  if (shadow.calls.has(intent.operation_id)) {
    broken('closed-once', `operation "${intent.operation_id}" was admitted twice`);
  }
  const call: Call = {
    id: intent.operation_id,
    replica,
    token: tokenOf(shadow, intent.token_id),
    admission,
    charge: admission.charge,
    instance: intent.instance_id,
    runs: [],
    consumed: 0n,
    isReconciled: false,
  };
  shadow.calls.set(call.id, call);
  shadow.invocations.set(intent.invocation_id, call);
  if (admission.composed) return;
  addRun(shadow, {
    invocation: intent.invocation_id,
    call,
    role: 'call',
    capability: intent.capability,
  });
}

export function addRun(shadow: Shadow, run: Run): void {
  shadow.runs.set(run.invocation, run);
  run.call.runs.push(run);
}

/** Last of all subjects: what ended is still open for the others. */
export function closing(shadow: Shadow): Subject {
  return {
    store: {
      settle(event) {
        const call = closedBy(shadow, event);
        if (!call) return;
        call.outcome = event.args[0].outcome;
        call.entryId = event.args[0].entry.entry_id;
      },
      reconcile(event) {
        const call = reconciledBy(shadow, event);
        if (!call) return;
        if (call.outcome !== 'indeterminate' || call.isReconciled) {
          const state = call.isReconciled ? 'it was reconciled before' : `it is ${call.outcome}`;
          broken('closed-once', `operation "${call.id}" was reconciled, and ${state}`);
        }
        call.isReconciled = true;
      },
      revokeToken({ args: [id], result }) {
        if (typeof result === 'object') tokenOf(shadow, id).isRevoked = true;
      },
    },
  };
}
