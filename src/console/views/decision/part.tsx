/**
 * A part of the evidence, and the count of parts that a person can see.
 *
 * A part reports itself after the browser has it in the page, and with as many rows as it should have. A part that
 * cannot be made or rendered says so in its place, and is missing in the count.
 *
 * @module
 */

import type { Signal } from '@preact/signals';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useErrorBoundary, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { type PartName, partFacts, type Shown } from '../../../domain/decision/facts.ts';
import type { PartFacts } from '../../../domain/decision/pieces.ts';
import { Shown as ShownText } from '../../parts/elements.tsx';
import { Evidence } from '../../parts/panels.tsx';
import { Marked } from '../../parts/words.tsx';

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

/** How many elements match a selector when the part is complete. */
type Expected = readonly [selector: string, count: number];

interface PartProps {
  readonly name: PartName;
  readonly shown: Shown;
  /** The class of its section. */
  readonly look?: string;
  /** Whether its heading is only heard. */
  readonly isQuiet?: boolean;
  /** Set for the part that stands folded at the end, with its result in the heading: whether something differs. */
  readonly isBad?: boolean;
  expects(facts: PartFacts): Expected;
  /** Between what comes before the facts and what comes after them. */
  children(facts: PartFacts): ComponentChildren;
}

export function Part({ name, shown, look, isQuiet, isBad, expects, children }: PartProps) {
  const section = useRef<HTMLElement>(null);
  const heading = useId();
  const [broken] = useErrorBoundary();
  const { facts, error = broken } = made(name, shown);
  useReport(
    name,
    section,
    facts && error === undefined ? expectedOf(expects(facts)) : { selector: '*', count: -1 },
  );
  const isWhole = facts !== undefined && error === undefined;
  const aside = facts?.aside && <Marked of={facts.aside} />;
  const inside = isWhole ? (
    <>
      <Marked of={facts.lead ?? []} />
      {children(facts)}
      <Marked of={facts.after ?? []} />
    </>
  ) : (
    <Broken name={name} error={error} />
  );
  if (isBad !== undefined) {
    return (
      <section ref={section} id={name}>
        <Evidence result={aside} isBad={isBad || !isWhole}>
          {inside}
        </Evidence>
      </section>
    );
  }
  return (
    <section ref={section} aria-labelledby={heading} id={name} class={look}>
      <div class={isQuiet ? 'vh' : 'head'}>
        <h2 id={heading}>{facts ? <Marked of={facts.title} /> : PART_WORDS[name]}</h2>{' '}
        {aside && <small>{aside}</small>}
      </div>
      {inside}
    </section>
  );
}

function made(name: PartName, shown: Shown): { facts?: PartFacts; error?: unknown } {
  try {
    return { facts: partFacts(name, shown) };
  } catch (error) {
    return { error };
  }
}

function expectedOf([selector, count]: Expected) {
  return { selector, count };
}

/** Reports a part without a section of its own. */
export function useReport(
  name: PartName,
  element: { readonly current: HTMLElement | null },
  expects: { readonly selector: string; readonly count: number },
): void {
  const parts = useContext(ShownParts);
  const tell = (isShown: boolean) => {
    if (!parts || parts.peek().has(name) === isShown) return;
    const rest = [...parts.peek()].filter((each) => each !== name);
    parts.value = new Set(isShown ? [...rest, name] : rest);
  };
  // Without a list of causes: what is on the page is looked at after every change.
  useLayoutEffect(() => {
    tell(isVisible(element.current, expects));
  });
  useLayoutEffect(() => () => tell(false), []);
}

function isVisible(
  element: HTMLElement | null,
  { selector, count }: { readonly selector: string; readonly count: number },
): boolean {
  if (!element?.isConnected || element.getClientRects().length === 0) return false;
  return element.querySelectorAll(selector).length === count;
}

function Broken({ name, error }: { readonly name: PartName; readonly error: unknown }) {
  const why = error instanceof Error ? error.message : String(error);
  return (
    <p class="bad">
      {PART_WORDS[name]} could not be shown: <ShownText text={why} />
    </p>
  );
}
