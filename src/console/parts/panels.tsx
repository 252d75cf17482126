/**
 * The frames that content stands in: rows that open as a whole, notices, tiles, what is folded, and evidence.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface RowProps {
  /** The address that the whole row opens; absent where it opens nothing. */
  readonly href?: string;
  readonly icon: IconName;
  /** What the icon says, where no word beside it does. */
  readonly says?: string;
  readonly isFinal?: boolean;
  /** Verb, amount and object. */
  readonly title: ComponentChildren;
  /** The time left, the state, or buttons. */
  readonly side?: ComponentChildren;
  /** The second line, and pills for exceptions. */
  readonly children?: ComponentChildren;
}

/** One thing of a list (`<ul class="list">`). */
export function Row({ href, icon, says, isFinal = false, title, side, children }: RowProps) {
  return (
    <li>
      <Icon name={icon} says={says} {...(isFinal && { class: 'final-icon' })} />
      <div class="body">
        <h3>
          {href === undefined ? (
            title
          ) : (
            <a class="open" href={href}>
              {title}
            </a>
          )}
        </h3>
        {children}
      </div>
      <div class="side">
        {side} {href === undefined ? null : <Icon name="chevron" />}
      </div>
    </li>
  );
}

interface EvidenceProps {
  /** What was checked, in its heading: it is known without opening it. */
  readonly result: ComponentChildren;
  /** Something does not match: it opens itself. */
  readonly isBad?: boolean;
  readonly children: ComponentChildren;
}

/** Digests, ids, exact times and commands, closed at the end of a page. */
export function Evidence({ result, isBad = false, children }: EvidenceProps) {
  return (
    <details class={isBad ? 'evidence bad' : 'evidence'} open={isBad}>
      <summary>
        <Icon name="chevron" class="turn" /> <span>Evidence</span> <small>{result}</small>
      </summary>
      {children}
    </details>
  );
}

const NOTICE_ICONS = { good: 'check', warn: 'warning', bad: 'warning', plain: 'clock' } as const;

interface NoticeProps {
  readonly state: keyof typeof NOTICE_ICONS;
  /** Read aloud at once: only for what blocks or has ended. */
  readonly isAlert?: boolean;
  readonly children: ComponentChildren;
}

/** One finding, before the details. */
export function Notice({ state, isAlert = false, children }: NoticeProps) {
  return (
    <div class={`notice ${state}`} {...(isAlert && { role: 'alert' })}>
      <Icon name={NOTICE_ICONS[state]} />
      <div>{children}</div>
    </div>
  );
}

interface TileProps {
  readonly label: string;
  readonly icon?: IconName;
  /** One number. */
  readonly value: ComponentChildren;
  /** Amber and red only where a person should act. */
  readonly state: keyof typeof NOTICE_ICONS;
  /** One line that says whether the number is good. */
  readonly children: ComponentChildren;
}

/** One number of many (`<dl class="tiles">`). */
export function Tile({ label, icon, value, state, children }: TileProps) {
  return (
    <div class={state === 'warn' || state === 'bad' ? `tile ${state}` : 'tile'}>
      <dt>
        {icon ? <Icon name={icon} /> : null} {label}
      </dt>
      <dd>
        <span class="num">{value}</span>
        <br />
        <span class="small">
          {state === 'plain' ? null : <Icon name={NOTICE_ICONS[state]} class={state} />} {children}
        </span>
      </dd>
    </div>
  );
}

interface FoldProps {
  readonly title: string;
  readonly icon?: IconName;
  /** Why one may leave it closed, or should not. */
  readonly state?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** What is seldom needed, with its state in the heading (`<div class="folds">`). */
export function Fold({ title, icon, state, children }: FoldProps) {
  return (
    <details>
      <summary>
        <Icon name="chevron" class="turn" /> {icon ? <Icon name={icon} /> : null}{' '}
        <span>{title}</span> {state === undefined ? null : <small>{state}</small>}
      </summary>
      {children}
    </details>
  );
}
