/**
 * Asks before a run with effects: which capabilities it calls, and what that costs at most.
 *
 * @module
 */

import { type Case, kindOf } from '../../attack/case.ts';
import { APPROVED_CALLS_MAX } from '../../attack/cases/approvals.ts';
import { PAID_CALLS_MAX } from '../../attack/cases/budgets.ts';
import type { PaidCall, World } from '../../attack/target/world.ts';
import { printable } from '../../domain/wire/printable.ts';
import type { Io } from '../shell/io.ts';
import { shownMoney } from '../shell/values.ts';

/** Says what the cases may do. False where the user does not want it. */
export async function mayHaveEffects(
  world: World,
  cases: readonly Case[],
  isSure: boolean,
  io: Io,
): Promise<boolean> {
  const kinds = new Set(cases.filter(({ hasEffects }) => hasEffects).map(kindOf));
  if (kinds.size === 0) return false;
  const { approver } = world;
  const paid = kinds.has('budgets') ? world.paid : undefined;
  const approved = kinds.has('approvals') ? world.approved : undefined;
  const lines = [
    ...(paid
      ? [line(world, paid, { usual: 'at most twice if every rule holds', most: PAID_CALLS_MAX })]
      : []),
    ...(approved
      ? [
          line(world, approved, {
            usual: approver ? 'once if every rule holds' : 'never if every rule holds',
            most: APPROVED_CALLS_MAX,
          }),
        ]
      : []),
  ];
  if (lines.length > 0) io.err(`With effects, this run calls:\n${lines.join('')}`);
  if (kinds.has('log')) io.err('It tries to delete and to replace entries of the log.\n');
  if (approved) io.err('It leaves approval requests, which approvers see.\n');
  if (isSure) return true;
  if (!io.ask) throw new Error('there is no terminal to ask at; give --yes');
  const said = await io.ask('Go on with effects? [y/N] ');
  if (/^y(?:es)?$/i.test((said ?? '').trim())) return true;
  io.err('Without effects, then.\n');
  return false;
}

interface Often {
  readonly usual: string;
  readonly most: number;
}

function line(
  { wire }: World,
  { capability, price, declared }: PaidCall,
  { usual, most }: Often,
): string {
  const isPaid = price.amount > 0;
  const worst = { currency: price.currency, amount: Number((price.amount * most).toFixed(4)) };
  const each = isPaid ? `up to ${shownMoney(price)} a call` : 'without a price';
  const sum = isPaid ? `, ${shownMoney(worst)},` : '';
  const name = wire.withoutSecrets(capability).slice(0, 100);
  const what = `${name} (${declared.sideEffect.slice(0, 20)}, ${each})`;
  return `  ${printable(`${what}: ${usual}; up to ${most} times${sum} if none holds`)}\n`;
}
