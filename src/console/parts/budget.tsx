/**
 * A budget as a bar and as numbers in the same order: spent, reserved, this request, left.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import type { BudgetView } from '../../protocol/console/views.ts';
import type { Money } from '../../protocol/primitives.ts';
import { Amount, digitsOf } from './money.tsx';

interface BudgetBarOf {
  readonly of: BudgetView;
  /** Of the call under decision. One in another currency takes nothing from this budget. */
  readonly cost?: Money | undefined;
  /** Whose budget: for screen readers, and above the bar where `heading` is absent. */
  readonly label: string;
  readonly heading?: ComponentChildren;
}

export function BudgetBar({ of, cost, label, heading }: BudgetBarOf) {
  const { currency, max, spent, reserved, left } = of;
  const next = cost?.currency === currency ? cost.amount : 0;
  const digits = (amount: number) => digitsOf({ amount, currency });
  const rest =
    next > 0 ? (['Left after', roundedDifference(left, next)] as const) : (['Left', left] as const);
  const nextWords = next > 0 ? `at most ${digits(next)} this call, ` : '';
  const words = `${label}: of ${digits(max)} ${currency}, ${digits(spent)} spent, ${digits(reserved)} reserved, ${nextWords}${digits(rest[1])} ${rest[0].toLowerCase()}`;
  return (
    <figure>
      <figcaption class="head">
        <span>{heading ?? <b>{label}</b>}</span>
        <span>
          limit <Amount of={{ amount: max, currency }} />
        </span>
      </figcaption>
      <Bar words={words} max={max} parts={[spent, reserved, next]} />
      <dl class="split">
        <Part name="Spent" look="spent" digits={digits(spent)} />
        <Part name="Reserved" look="held" digits={digits(reserved)} />
        {next > 0 ? <Part name="This call, at most" look="next" digits={digits(next)} /> : null}
        <Part name={rest[0]} digits={digits(rest[1])} isBad={rest[1] < 0} />
      </dl>
    </figure>
  );
}

interface BarOf {
  readonly words: string;
  readonly max: number;
  readonly parts: readonly [spent: number, reserved: number, next: number];
}

function Bar({ words, max, parts: [spent, reserved, next] }: BarOf) {
  const solid = shareOf(spent, max, 0);
  const hatched = shareOf(reserved, max, solid);
  const blue = shareOf(next, max, solid + hatched);
  const look = spent + reserved + next > max ? 'over' : 'next';
  return (
    <svg class="bar" role="img" aria-label={words}>
      <rect class="spent" width={`${solid}%`} height="100%" />
      <rect fill="url(#hatch)" x={`${solid}%`} width={`${hatched}%`} height="100%" />
      {blue > 0 ? (
        <rect class={look} x={`${solid + hatched}%`} width={`${blue}%`} height="100%" />
      ) : null}
    </svg>
  );
}

interface PartOf {
  readonly name: string;
  readonly look?: string;
  readonly digits: string;
  readonly isBad?: boolean;
}

function Part({ name, look, digits, isBad }: PartOf) {
  return (
    <div>
      <dt class={look}>{name}</dt>
      <dd class={isBad ? 'money bad' : 'money'}>{digits}</dd>
    </div>
  );
}

/** The hatching of reserved money. The frame has it once. */
export function Hatching() {
  return (
    <svg class="vh" aria-hidden="true">
      <defs>
        <pattern
          id="hatch"
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <path class="hatch" d="M0 0V6" />
        </pattern>
      </defs>
    </svg>
  );
}

/** In percent with one decimal, and within what the parts before it leave. */
function shareOf(amount: number, max: number, taken: number): number {
  const share = max > 0 ? Math.round((amount / max) * 1_000) / 10 : 0;
  return Math.max(0, Math.min(share, 100 - taken));
}

/** Amounts have at most four decimals; the difference of two doubles may show more. */
function roundedDifference(left: number, right: number): number {
  return Math.round((left - right) * 10_000) / 10_000;
}
