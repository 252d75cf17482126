/**
 * The history of a run, and the questions that the model asks it.
 *
 * The model keeps nothing else. Each question reads the whole history again.
 *
 * @module
 */

import type { CallAct } from './acts.ts';
import type { Money } from './catalog.ts';

export interface Token {
  readonly label: string;
  readonly parent?: string | undefined;
  readonly root: string;
  readonly subject: string;
  readonly scope: readonly string[];
  readonly capability?: string | undefined;
  readonly task?: string | undefined;
  readonly budget?: Money | undefined;
  readonly isExclusive: boolean;
  readonly depth: number;
  readonly depthMax: number;
  readonly endsAt: number;
}

/** An answer in the form in which both sides are compared. Ids are the labels of the acts that made them. */
export type Answer = Readonly<Record<string, unknown>>;

export interface Binding {
  readonly label: string;
  readonly root: string;
  readonly price: Money;
  readonly at: number;
}

export interface Admitted {
  readonly kind: 'admitted';
  readonly call: string;
  readonly token: string;
  readonly charge?: Money | undefined;
  /** The chain, the capability and the key, with the parameters as sent. */
  readonly key?: { readonly name: string; readonly parameters: string } | undefined;
  readonly grant?: string | undefined;
  readonly at: number;
}

export interface Asked {
  readonly kind: 'asked';
  readonly label: string;
  readonly root: string;
  readonly subject: string;
  readonly capability: string;
  readonly chain: string;
  readonly parameters: string;
  readonly at: number;
}

export interface Granted {
  readonly kind: 'granted';
  readonly label: string;
  readonly request: string;
  readonly at: number;
}

export type Event =
  | { readonly kind: 'passed'; readonly ms: number }
  | { readonly kind: 'issued'; readonly token: Token }
  | { readonly kind: 'revoked'; readonly token: string }
  | {
      readonly kind: 'froze';
      readonly label: string;
      readonly target: string;
      readonly until?: number | undefined;
    }
  | { readonly kind: 'lifted'; readonly target: string }
  | Admitted
  | {
      readonly kind: 'settled';
      readonly call: string;
      readonly spent: number;
      readonly debt?: Money | undefined;
      readonly answer: Answer;
    }
  | { readonly kind: 'bound'; readonly binding: Binding }
  | Asked
  | Granted;

export type History = readonly Event[];

type Kind = Event['kind'];

function eventsOf<Wanted extends Kind>(
  history: History,
  kind: Wanted,
): Extract<Event, { kind: Wanted }>[] {
  return history.filter((event) => event.kind === kind) as never;
}

/** Milliseconds since the run began. */
export function nowIn(history: History): number {
  return eventsOf(history, 'passed').reduce((sum, { ms }) => sum + ms, 0);
}

export function tokenIn(history: History, label: string): Token | undefined {
  return eventsOf(history, 'issued').find(({ token }) => token.label === label)?.token;
}

/** The token and those above it, the root first. */
export function lineageIn(history: History, label: string): Token[] {
  const token = tokenIn(history, label);
  if (!token) return [];
  return token.parent === undefined ? [token] : [...lineageIn(history, token.parent), token];
}

/** The names that a requester is known by: the root principal, then each subject, repeated names once. */
export function chainIn(history: History, label: string): string {
  const lineage = lineageIn(history, label);
  const names = [lineage[0]?.root ?? '', ...lineage.map(({ subject }) => subject)];
  return names.filter((name, place) => place === 0 || names[place - 1] !== name).join(' > ');
}

/** Why the token gives no authority: a revocation above it or of itself, or its end. */
export function deathIn(history: History, label: string): 'revoked' | 'expired' | undefined {
  const lineage = lineageIn(history, label);
  const revoked = eventsOf(history, 'revoked').map(({ token }) => token);
  if (lineage.some((token) => revoked.includes(token.label))) return 'revoked';
  return lineage.some(({ endsAt }) => nowIn(history) >= endsAt) ? 'expired' : undefined;
}

/** The token and every token below it that is alive. */
export function livingUnder(history: History, label: string): string[] {
  return eventsOf(history, 'issued')
    .map(({ token }) => token.label)
    .filter((each) => lineageIn(history, each).some((above) => above.label === label))
    .filter((each) => deathIn(history, each) === undefined);
}

export function targetOf({
  capability,
  root,
}: {
  capability?: string | undefined;
  root?: string | undefined;
}): string {
  return `${capability ?? 'every capability'} for ${root ?? 'everyone'}`;
}

/** Whether the target is frozen now: by the last act about it, if that froze it and has not ended. */
export function isFrozenIn(history: History, target: string): boolean {
  const about = history.filter((event) => 'target' in event && event.target === target);
  const last = about.at(-1);
  if (last?.kind !== 'froze') return false;
  return last.until === undefined || nowIn(history) < last.until;
}

/** Whether a freeze stops this root principal, for this capability or, without one, for all of them. */
export function stopsIn(history: History, root: string, capability?: string): boolean {
  const targets = [{}, { root }, ...(capability ? [{ capability }, { capability, root }] : [])];
  return targets.some((target) => isFrozenIn(history, targetOf(target)));
}

export interface Budget extends Money {
  readonly token: string;
  readonly reserved: number;
  readonly spent: number;
}

/** The budgets of the lineage, the root first: each counts every call under its token. */
export function budgetsIn(history: History, label: string): Budget[] {
  return lineageIn(history, label).flatMap(({ label: token, budget }) => {
    if (!budget) return [];
    const calls = callsUnder(history, token);
    const open = calls.filter(({ call }) => isOpenIn(history, call));
    return {
      ...budget,
      token,
      reserved: open.reduce((sum, { charge }) => sum + (charge?.amount ?? 0), 0),
      spent: calls.reduce((sum, { call }) => sum + (endOf(history, call)?.spent ?? 0), 0),
    };
  });
}

/** What calls under the token cost beyond their reservations. */
export function debtsIn(history: History, label: string): Money[] {
  const debts = callsUnder(history, label).flatMap(({ call }) => endOf(history, call)?.debt ?? []);
  return (['JPY', 'USD'] as const).flatMap((currency) => {
    const amount = debts
      .filter((debt) => debt.currency === currency)
      .reduce((sum, debt) => sum + debt.amount, 0);
    return amount > 0 ? [{ currency, amount }] : [];
  });
}

function callsUnder(history: History, token: string): Admitted[] {
  return eventsOf(history, 'admitted').filter((admitted) =>
    lineageIn(history, admitted.token).some(({ label }) => label === token),
  );
}

export function endOf(history: History, call: string) {
  return eventsOf(history, 'settled').find((settled) => settled.call === call);
}

function isOpenIn(history: History, call: string): boolean {
  return endOf(history, call) === undefined;
}

/** An exclusive token of the lineage under which a call runs now. */
export function isBusyIn(history: History, label: string): boolean {
  return lineageIn(history, label).some(
    (token) =>
      token.isExclusive &&
      callsUnder(history, token.label).some(({ call }) => isOpenIn(history, call)),
  );
}

/** Milliseconds for which the answer under a key is kept. */
const KEY_MS = 25 * 3_600_000;

/** The call that has the key: the last one that took it, until its time is over and it has ended. */
export function holderIn(history: History, name: string): Admitted | undefined {
  const last = eventsOf(history, 'admitted').findLast(({ key }) => key?.name === name);
  if (!last) return undefined;
  const isKept = nowIn(history) < last.at + KEY_MS || isOpenIn(history, last.call);
  return isKept ? last : undefined;
}

export function bindingIn(history: History, label: string): Binding | undefined {
  return eventsOf(history, 'bound').find(({ binding }) => binding.label === label)?.binding;
}

export function requestsIn(history: History): Asked[] {
  return eventsOf(history, 'asked');
}

export function grantsIn(history: History): Granted[] {
  return eventsOf(history, 'granted');
}

export function usesIn(history: History, grant: string): number {
  return eventsOf(history, 'admitted').filter((admitted) => admitted.grant === grant).length;
}

/** The name of a key: it belongs to a chain of principals and to a capability. */
export function keyName(history: History, { token, capability, key }: CallAct): string {
  return `${chainIn(history, token)} | ${capability} | ${key}`;
}
