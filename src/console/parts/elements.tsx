/**
 * The small elements of every page: text of others, names, money, times, states, facts.
 *
 * @module
 */

import { useComputed, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { isMark, piecesOf } from '../../domain/decision/hidden.ts';
import { digitsOf, personOf } from '../../domain/decision/values.ts';
import { effectOf } from '../../domain/sign-in/consent-words.ts';
import { agoOf, leftOf, shortTime } from '../../domain/values/time-words.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Money } from '../../protocol/primitives.ts';
import { now } from '../api.ts';
import { announce } from './announce.ts';
import { Icon } from './icon.tsx';

/**
 * Text that other people, agents and clients wrote: characters that are invisible, reorder the text or imitate others
 * stand as marks in their place. The text is isolated, so that its direction cannot reach the text around it.
 */
export function Shown({ text }: { readonly text: string }) {
  return <bdi>{piecesOf(text).map((piece) => (isMark(piece) ? <Mark of={piece} /> : piece))}</bdi>;
}

/** The same in the type of ids and names in code. */
export function Code({ text }: { readonly text: string }) {
  return (
    <code>
      <Shown text={text} />
    </code>
  );
}

interface CodesProps {
  readonly of: readonly string[];
  /** In the place of an empty list. */
  readonly none?: string;
}

export function Codes({ of, none = '' }: CodesProps) {
  if (of.length === 0) return <>{none}</>;
  return (
    <>
      {of.map((text, index) => (
        <span key={text}>
          {index > 0 ? ', ' : ''}
          <Code text={text} />
        </span>
      ))}
    </>
  );
}

function Mark({ of }: { readonly of: string }) {
  return <span class="ctl">{of}</span>;
}

export function Person({ of }: { readonly of: string }) {
  return (
    <b>
      <Shown text={personOf(of)} />
    </b>
  );
}

/** No part of the service checked the name. */
export function Claimed({ name }: { readonly name: string }) {
  return (
    <q class="claimed">
      <Shown text={name} />
    </q>
  );
}

/** "agent:planner ← ann@example.com": the one who acts comes first, the root principal last. */
export function Chain({ of }: { readonly of: readonly string[] }) {
  return (
    <ol class="chain">
      {of.map((principal, at) => (
        <li key={`${at} ${principal}`}>
          {at === 0 ? null : <span class="vh">acts for </span>}
          <Person of={principal} />{' '}
        </li>
      ))}
    </ol>
  );
}

/** Tabular digits, bold, the code of the currency after the amount. */
export function Amount({ of }: { readonly of: Money }) {
  return (
    <span class="money">
      {digitsOf(of)} <small>{of.currency}</small>
    </span>
  );
}

/** Times are those of the clock of the service. The relative part moves in place. */
interface At {
  readonly at: string;
}

/** "22 min ago, 14:18:25 UTC". */
export function Ago({ at }: At) {
  const words = useComputed(() => agoOf(Date.parse(at), now.value));
  return (
    <time class="ago" dateTime={at}>
      {words}, <Exact at={at} />
    </time>
  );
}

/** "2 h left", amber in the last ten minutes, "expired" afterwards. */
export function Left({ until }: { readonly until: string }) {
  const end = Date.parse(until);
  const words = useComputed(() => leftOf(end - now.value));
  const look = useComputed(() => (end - now.value < SOON_MS ? 'time soon' : 'time'));
  return (
    <time class={look} dateTime={until}>
      <b>{words}</b> <Exact at={until} />
    </time>
  );
}

/** The clock alone on the same day, otherwise with the day. */
function Exact({ at }: At) {
  const words = useComputed(() => shortTime(at, now.value));
  return <small class="unit">{words}</small>;
}

/** Below this the time is amber. */
const SOON_MS = 600_000;

const EFFECT_ICONS = {
  reads: 'read',
  changes: 'write',
  undo: 'reversible',
  final: 'irreversible',
} as const;

/** What a capability does to the world. */
export function effectLook(of: Capability['side_effect']) {
  const { kind, words } = effectOf({ side_effect: of });
  return { words, icon: EFFECT_ICONS[kind], isFinal: kind === 'final' };
}

/** The same beside words. */
export function Effect({ of }: { readonly of: Capability['side_effect'] }) {
  const { words, icon, isFinal } = effectLook(of);
  return (
    <span class={isFinal ? 'effect final' : 'effect'}>
      <Icon name={icon} /> {words}
    </span>
  );
}

const LOOKS = {
  good: 'pill good',
  warn: 'pill warn',
  danger: 'pill bad',
  act: 'pill act',
  off: 'pill off',
} as const;

interface PillProps {
  readonly state: keyof typeof LOOKS;
  readonly children: ComponentChildren;
}

/** The state of something in one or two words. */
export function Pill({ state, children }: PillProps) {
  return <span class={LOOKS[state]}>{children}</span>;
}

interface FactProps {
  readonly term: ComponentChildren;
  /** The class of the term. */
  readonly look?: string | undefined;
  /** The value, where it is one piece. */
  readonly is?: ComponentChildren;
  /** The value, where it is several pieces. */
  readonly children?: ComponentChildren;
}

/** A term with its value, in a list of facts (`<dl class="facts">`). */
export function Fact({ term, look, is, children = is }: FactProps) {
  return (
    <>
      <dt class={look}>{term}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** The headings of the columns of a table. */
export function Heads({ of }: { readonly of: readonly string[] }) {
  return (
    <thead>
      <tr>
        {of.map((head) => (
          <th scope="col" key={head}>
            {head}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface HashProps {
  /** With or without "sha256:". */
  readonly hex: string;
  /** What is copied, for screen readers: "the digest". */
  readonly what?: string;
}

export function Hash({ hex, what = 'the hash' }: HashProps) {
  const digits = hex.replace(/^sha256:/, '');
  return (
    <>
      <code class="hash">
        {(digits.match(/.{1,8}/g) ?? []).map((group, at) => (
          <span key={at}>{group}</span>
        ))}
      </code>{' '}
      <Copy text={digits} what={what} />
    </>
  );
}

/** Absent where the browser lets no page write to the clipboard. */
export function Copy({ text, what }: { readonly text: string; readonly what: string }) {
  const words = useSignal('Copy');
  if (!navigator.clipboard) return null;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      words.value = 'Copied';
      announce(`Copied ${what}`);
    } catch {
      words.value = 'Not copied';
      announce(`The browser did not copy ${what}`);
    }
  };
  return (
    <button type="button" class="text" aria-label={`${words.value} ${what}`} onClick={copy}>
      {words}
    </button>
  );
}
