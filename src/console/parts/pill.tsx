/**
 * The state of something in one or two words.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';

const LOOKS = {
  good: 'pill good',
  warn: 'pill warn',
  danger: 'pill bad',
  act: 'pill doing',
  off: 'pill off',
} as const;

interface PillProps {
  readonly state: keyof typeof LOOKS;
  readonly children: ComponentChildren;
}

export function Pill({ state, children }: PillProps) {
  return <span class={LOOKS[state]}>{children}</span>;
}
