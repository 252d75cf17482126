/**
 * What a part of a view loads: its states, and how they look.
 *
 * While something loads again, the last value stays, so nothing jumps. The answer to an older question is ignored.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { personOf } from '../../domain/decision/values.ts';
import type { Failure } from '../../protocol/failure.ts';
import { Refused } from '../api.ts';
import { Shown } from './elements.tsx';
import { Icon } from './icon.tsx';
import { Notice } from './panels.tsx';

interface Again {
  again(): void;
}

export type Loaded<T> =
  | (Again & { readonly state: 'loading' })
  | (Again & {
      readonly state: 'failed';
      readonly why: string;
      readonly failure: Failure | undefined;
      /** What was there before. */
      readonly value: T | undefined;
    })
  | (Again & { readonly state: 'ready'; readonly value: T; readonly isLoadingAgain: boolean });

/** The part of `Loaded` that a question changes. */
type Outcome<T> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: unknown; readonly value: T | undefined }
  | { readonly state: 'ready'; readonly value: T; readonly isLoadingAgain: boolean };

/** Asks when it is shown, when one of `deps` changed, and when `again` is called. */
export function useLoaded<T>(load: () => Promise<T>, deps: readonly unknown[]): Loaded<T> {
  const [outcome, setOutcome] = useState<Outcome<T>>({ state: 'loading' });
  const question = useRef(0);
  const start = () => {
    const mine = ++question.current;
    const settle = (next: (last: Outcome<T>) => Outcome<T>) => {
      if (question.current === mine) setOutcome(next);
    };
    settle((last) => (last.state === 'ready' ? { ...last, isLoadingAgain: true } : last));
    load().then(
      (value) => settle(() => ({ state: 'ready', value, isLoadingAgain: false })),
      (error: unknown) =>
        settle((last) => ({
          state: 'failed',
          error,
          value: last.state === 'loading' ? undefined : last.value,
        })),
    );
  };
  useEffect(() => {
    start();
    return () => {
      question.current += 1;
    };
  }, deps as unknown[]);
  if (outcome.state !== 'failed') return { ...outcome, again: start };
  const { error, value } = outcome;
  const failure = error instanceof Refused ? error.failure : undefined;
  return { state: 'failed', why: whyOf(error), failure, value, again: start };
}

/** The sentence of a refusal, and who could grant what is lacking. */
export function whyOf(error: unknown): string {
  if (!(error instanceof Refused)) return error instanceof Error ? error.message : String(error);
  const { detail, resolution } = error.failure;
  const by = resolution.grantable_by;
  return by === undefined ? detail : `${detail}. ${personOf(by)} can grant it`;
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <div class="loading stack" aria-busy="true">
      <p>Loading {what}…</p>
      <div class="ghost" />
      <div class="ghost half" />
    </div>
  );
}

interface FailedProps {
  readonly what: string;
  readonly why: string;
  again(): void;
}

/** `what` begins the sentence: "The history". */
export function Failed({ what, why, again }: FailedProps) {
  return (
    <Notice state="bad" isAlert>
      {what} did not load: <Shown text={why} />.{' '}
      <button type="button" class="text" onClick={again}>
        Load again
      </button>
    </Notice>
  );
}

/** Says what is so, and who can change it. */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="panel empty">
      <Icon name="check" />
      <p>{children}</p>
    </div>
  );
}

interface ReadyProps<T> {
  readonly of: Loaded<T>;
  /** Begins a sentence: "The list of freezes". */
  readonly what: string;
  /** What is said to load, where that has other words. */
  readonly loading?: string;
  readonly children: (value: T) => ComponentChildren;
}

/** Shows what was loaded. When it cannot be loaded again, what was there stays below the reason. */
export function Ready<T>({ of, what, loading, children }: ReadyProps<T>) {
  if (of.state === 'ready') return <>{children(of.value)}</>;
  if (of.state === 'loading') {
    return <Loading what={loading ?? what.charAt(0).toLowerCase() + what.slice(1)} />;
  }
  return (
    <>
      <Failed what={what} why={of.why} again={of.again} />
      {of.value === undefined ? null : children(of.value)}
    </>
  );
}
