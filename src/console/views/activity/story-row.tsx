/**
 * One story in a row, which opens into its entries.
 *
 * @module
 */

import { personOf } from '../../../domain/decision/values.ts';
import { titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { AuditEntry } from '../../../protocol/audit.ts';
import { Amount, effectLook, Pill, Shown } from '../../parts/elements.tsx';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { Row } from '../../parts/panels.tsx';
import { hrefOf } from '../../router.ts';
import type { Declarations } from '../agents/details.tsx';
import { counted } from '../counted.ts';
import { EntryTable, What, Who } from './entry-row.tsx';
import { TYPE_WORDS } from './filters.ts';
import { type Step, type Story, stepsOf } from './story.ts';
import { outcomeOf } from './words.ts';

interface StoryRowProps {
  readonly of: Story;
  /** Undefined until the catalog is loaded. */
  readonly declarations: Declarations | undefined;
}

export function StoryRow({ of, declarations }: StoryRowProps) {
  const { entries, head } = of;
  const outcome = outcomeOf(head);
  const icon = iconOf(head, declarations);
  const first = entries.at(-1) as AuditEntry;
  const times = [first, entries[0] as AuditEntry].map(({ timestamp }) => minuteOf(timestamp));
  const href = hrefFor(of);
  return (
    <Row
      {...(href !== undefined && { href })}
      {...icon}
      title={<StoryTitle of={of} />}
      side={
        <>
          <span class="muted nb">
            {[...new Set(of.isRepeated ? times : times.slice(1))].join('–')}
          </span>
          <Pill state={outcome.state}>
            <Icon name={PILL_ICONS[outcome.state]} /> {outcome.words}
          </Pill>
        </>
      }
    >
      <p>
        <Who entry={head} />
      </p>
      <Steps of={stepsOf(of)} />
      <Entries of={entries} href={href} />
    </Row>
  );
}

const PILL_ICONS = { good: 'check', warn: 'clock', danger: 'cross' } as const;

/** "14:36", in UTC. */
function minuteOf(at: string): string {
  return at.slice(11, 16);
}

/** Of the call, or of the request for approval. */
function hrefFor({ head, entries }: Story): string | undefined {
  const call = head.invocation_id ?? entries.find((each) => each.invocation_id)?.invocation_id;
  if (call) return hrefOf('activity', call);
  const request = head.approval_request_id;
  return request === null ? undefined : hrefOf('approvals', request);
}

const KIND_ICONS = {
  issuance: 'agent',
  revocation: 'stop',
  approval_request: 'seal',
  approval_decision: 'seal',
  operator: 'key',
  session: 'passkey',
} as const;

function iconOf({ entry_type, capability }: AuditEntry, declarations: Declarations | undefined) {
  if (entry_type in KIND_ICONS && entry_type !== 'approval_request') {
    const icon: IconName = KIND_ICONS[entry_type as keyof typeof KIND_ICONS];
    return { icon, says: TYPE_WORDS[entry_type] };
  }
  const declared = capability === null ? undefined : declarations?.[capability];
  if (!declared) return { icon: 'tool' as const, says: TYPE_WORDS[entry_type] };
  const { words, ...look } = effectLook(declared.side_effect);
  return { ...look, says: words };
}

/** A call by its capability and its cost; anything else by what it says. */
export function StoryTitle({ of: { head, entries, isRepeated } }: { readonly of: Story }) {
  const { entry_type, capability, cost_actual } = head;
  const isCall = entry_type === 'invocation' || entry_type === 'settlement';
  if (!isCall || capability === null) return <What entry={head} />;
  return (
    <>
      <Shown text={titleOf(capability)} />
      {cost_actual ? ' for ' : null}
      {cost_actual ? <Amount of={cost_actual} /> : null}
      {isRepeated ? `, ${entries.length} times` : null}
    </>
  );
}

/** What happened, in its order. */
export function Steps({ of }: { readonly of: readonly Step[] }) {
  if (of.length === 0) return null;
  return (
    <ol class="story">
      {of.map(({ icon, words, at, isBad }, index) => (
        <li key={index} {...(isBad && { class: 'bad' })}>
          <Icon name={icon} />{' '}
          <span>
            {words.map((word) => {
              if (typeof word === 'string') return word;
              const text = word.kind === 'name' ? titleOf(word.text) : personOf(word.text);
              return <Shown key={text} text={text} />;
            })}{' '}
            {minuteOf(at)}
          </span>
        </li>
      ))}
    </ol>
  );
}

interface EntriesProps {
  readonly of: readonly AuditEntry[];
  /** Where all of the story is. */
  readonly href: string | undefined;
}

/** Those of this page. Others of the same story may be on another page, or not be for this person. */
function Entries({ of, href }: EntriesProps) {
  return (
    <details>
      <summary class="more">
        <Icon name="chevron" class="turn" />{' '}
        <span>{counted(of.length, 'log entry', 'log entries')}</span>
      </summary>
      <EntryTable of={of} />
      {href === undefined ? null : (
        <p>
          The entries of this page. <a href={href}>See the whole story</a>
        </p>
      )}
    </details>
  );
}
