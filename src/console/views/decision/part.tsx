/**
 * A part of the evidence, and the count of parts that a person can see.
 *
 * A part reports itself after the browser has it in the page, and with as many rows as it should have. A part that
 * fails to render says so in its place, and is missing in the count.
 *
 * @module
 */

import type { Signal } from '@preact/signals';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useErrorBoundary, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Shown } from '../../parts/shown.tsx';

/** The parts of a decision, in the order of the page. */
export const PARTS = [
  'summary',
  'preview',
  'parameters',
  'changes',
  'words',
  'hands',
  'budgets',
  'terms',
  'history',
  'digests',
] as const;
export type PartName = (typeof PARTS)[number];

/** What a person calls the part, at the beginning of a sentence. */
export const PART_WORDS: Readonly<Record<PartName, string>> = {
  summary: 'The summary',
  preview: 'The preview',
  parameters: 'The list of parameters',
  changes: 'The comparison with the last approval',
  words: "The agent's words",
  hands: 'The chain of principals',
  budgets: 'The list of budgets',
  terms: 'The terms',
  history: 'The history',
  digests: 'The digests',
};

/** The parts that are on the page, complete. */
export const ShownParts = createContext<Signal<ReadonlySet<PartName>> | undefined>(undefined);

interface PartOf {
  readonly name: PartName;
  readonly title: ComponentChildren;
  readonly aside?: ComponentChildren;
  /** How many elements match a selector when the part is complete. */
  readonly expects?: { readonly selector: string; readonly count: number };
  readonly children: ComponentChildren;
}

export function Part({ name, title, aside, expects, children }: PartOf) {
  const section = useRef<HTMLElement>(null);
  const heading = useId();
  const [error] = useErrorBoundary();
  useReport(name, section, expects, error === undefined);
  return (
    <section ref={section} aria-labelledby={heading} id={name}>
      <div class="head">
        <h2 id={heading}>{title}</h2> {aside === undefined ? null : <small>{aside}</small>}
      </div>
      {error === undefined ? children : <Broken name={name} error={error} />}
    </section>
  );
}

/** Reports a part without a section of its own. */
export function useReport(
  name: PartName,
  element: { readonly current: HTMLElement | null },
  expects: PartOf['expects'],
  isWhole = true,
): void {
  const parts = useContext(ShownParts);
  const tell = (isShown: boolean) => {
    if (!parts || parts.peek().has(name) === isShown) return;
    const rest = [...parts.peek()].filter((each) => each !== name);
    parts.value = new Set(isShown ? [...rest, name] : rest);
  };
  // Without a list of causes: what is on the page is looked at after every change.
  useLayoutEffect(() => {
    tell(isWhole && isVisible(element.current, expects));
  });
  useLayoutEffect(() => () => tell(false), []);
}

function isVisible(element: HTMLElement | null, expects: PartOf['expects']): boolean {
  if (!element?.isConnected || element.getClientRects().length === 0) return false;
  return !expects || element.querySelectorAll(expects.selector).length === expects.count;
}

function Broken({ name, error }: { readonly name: PartName; readonly error: unknown }) {
  const why = error instanceof Error ? error.message : String(error);
  return (
    <p class="bad">
      {PART_WORDS[name]} could not be shown: <Shown text={why} />
    </p>
  );
}
