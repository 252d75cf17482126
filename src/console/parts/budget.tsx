/**
 * A budget as a bar and as numbers in the same order: spent, held, this call, left.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { type BudgetCell, budgetFacts, type CallMoney } from '../../domain/decision/people.ts';
import { digitsOf } from '../../domain/decision/values.ts';
import type { BudgetView } from '../../protocol/console/views.ts';
import { Amount } from './elements.tsx';
import { Icon } from './icon.tsx';

interface BudgetBarProps {
  readonly of: BudgetView;
  /** Of the call under decision. One in another currency takes nothing from this budget. */
  readonly cost?: CallMoney | undefined;
  /** Whose budget: for screen readers, and above the bar where `heading` is absent. */
  readonly label: string;
  readonly heading?: ComponentChildren;
}

export function BudgetBar({ of, cost, label, heading }: BudgetBarProps) {
  const { limit, next, cells } = budgetFacts(of, cost);
  const { currency, amount: max } = limit;
  const digits = (amount: number) => digitsOf({ amount, currency });
  const parts = cells.map(({ name, amount }) => `${digits(amount)} ${name.toLowerCase()}`);
  return (
    <figure>
      <figcaption class="head small">
        <span>{heading ?? <b>{label}</b>}</span>
        <span>
          of <Amount of={limit} />
        </span>
      </figcaption>
      <Bar
        words={`${label}: of ${digits(max)} ${currency}, ${parts.join(', ')}`}
        max={max}
        parts={[of.spent, of.reserved, next]}
      />
      <dl class="split">
        {cells.map((cell) => (
          <Cell key={cell.name} of={cell} digits={digits(cell.amount)} />
        ))}
      </dl>
    </figure>
  );
}

interface ThinBudgetProps {
  readonly of: BudgetView;
  readonly label: string;
  /** What else holds for it. */
  readonly children?: ComponentChildren;
}

/** The same on few lines, for a list: how much is used, and what of it is held. */
export function ThinBudget({ of, label, children }: ThinBudgetProps) {
  const { currency, max, spent, reserved } = of;
  const used = spent + reserved;
  const share = usedShare(of);
  const digits = digitsOf({ amount: used, currency });
  const limit = { amount: max, currency };
  return (
    <figure>
      <figcaption class="head small">
        {share >= 100 ? (
          <b class="bad">
            <Icon name="stop" /> Used up
          </b>
        ) : (
          <b {...(share >= NEARLY_FULL * 100 && { class: 'warn' })}>
            {share >= NEARLY_FULL * 100 ? <Icon name="warning" /> : null} {share} % used
          </b>
        )}
        <span>
          <span class="money">{digits}</span> <span class="muted">of</span> <Amount of={limit} />
        </span>
      </figcaption>
      <Bar
        words={`${label}: ${digits} of ${digitsOf(limit)} ${currency} used, ${share} %`}
        max={max}
        parts={[spent, reserved, 0]}
        isThin
      />
      {reserved > 0 ? (
        <p class="muted">
          <Amount of={{ amount: reserved, currency }} /> held
        </p>
      ) : null}
      {children}
    </figure>
  );
}

/** In whole percent, rounded down: what is held counts as used. */
export function usedShare({ max, spent, reserved }: BudgetView): number {
  return max > 0 ? Math.floor(((spent + reserved) / max) * 100) : 100;
}

/** From this share on the bar is amber: the notch of its drawing. */
export const NEARLY_FULL = 0.8;

interface BarProps {
  readonly words: string;
  readonly max: number;
  readonly parts: readonly [spent: number, reserved: number, next: number];
  readonly isThin?: boolean;
}

function Bar({ words, max, parts: [spent, reserved, next], isThin = false }: BarProps) {
  const solid = shareOf(spent, max, 0);
  const hatched = shareOf(reserved, max, solid);
  const blue = shareOf(next, max, solid + hatched);
  const taken = spent + reserved + next;
  const look = taken > max ? 'over' : 'next';
  const heat = taken >= max ? 'bar full' : taken >= NEARLY_FULL * max ? 'bar high' : 'bar';
  return (
    <svg class={isThin ? `${heat} thin` : heat} role="img" aria-label={words}>
      <rect class="spent" width={`${solid}%`} height="100%" />
      <rect fill="url(#hatch)" x={`${solid}%`} width={`${hatched}%`} height="100%" />
      {blue > 0 ? (
        <rect class={look} x={`${solid + hatched}%`} width={`${blue}%`} height="100%" />
      ) : null}
      <line class="notch" x1="80%" x2="80%" y1="0" y2="100%" />
    </svg>
  );
}

interface CellProps {
  readonly of: BudgetCell;
  readonly digits: string;
}

function Cell({ of: { name, look, amount }, digits }: CellProps) {
  return (
    <div>
      <dt class={look}>{name}</dt>
      <dd class={amount < 0 ? 'money bad' : 'money'}>{digits}</dd>
    </div>
  );
}

/** In percent with one decimal, and within what the parts before it leave. */
function shareOf(amount: number, max: number, taken: number): number {
  const share = max > 0 ? Math.round((amount / max) * 1_000) / 10 : 0;
  return Math.max(0, Math.min(share, 100 - taken));
}
