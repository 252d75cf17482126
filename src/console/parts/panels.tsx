/**
 * The frames that content stands in: rows that open as a whole, and notices.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface RowProps {
  /** The address that the whole row opens. */
  readonly href: string;
  readonly icon: IconName;
  /** What the icon says: it stands alone. */
  readonly says: string;
  readonly isFinal?: boolean;
  /** Verb, amount and object. */
  readonly title: ComponentChildren;
  /** The time left, or the state. */
  readonly side: ComponentChildren;
  /** The second line, and pills for exceptions. */
  readonly children: ComponentChildren;
}

/** One thing of a list (`<ul class="list">`). */
export function Row({ href, icon, says, isFinal = false, title, side, children }: RowProps) {
  return (
    <li>
      <Icon name={icon} says={says} {...(isFinal && { class: 'final-icon' })} />
      <div class="body">
        <h3>
          <a class="open" href={href}>
            {title}
          </a>
        </h3>
        {children}
      </div>
      <div class="side">
        {side} <Icon name="chevron" />
      </div>
    </li>
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
