/**
 * Stories: entries of the log that tell of one call, from the request to its end.
 *
 * Only the loaded entries are known, so a story can lack its beginning, its end, and decisions that the person may
 * not read. It claims nothing about what it lacks.
 *
 * @module
 */

import type { AuditEntry } from '../../../protocol/audit.ts';
import { capabilityOf, type Words, whatOf } from './words.ts';

export interface Story {
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
  /** The one that says what happened. */
  readonly head: AuditEntry;
  /** Whether the entries are calls of one kind, and not the steps of one call. */
  readonly isRepeated: boolean;
}

export interface Step {
  readonly icon: 'agent' | 'check' | 'cross' | 'money' | 'clock' | 'reversible';
  readonly words: Words;
  readonly at: string;
  /** It ended the story without what was asked. */
  readonly isBad: boolean;
}

/** In the order of their newest entries. The entries are newest first. */
export function storiesOf(entries: readonly AuditEntry[]): Story[] {
  const stories: AuditEntry[][] = [];
  const known = new Map<string, AuditEntry[]>();
  for (const entry of entries) {
    const links = linksOf(entry);
    const found = links.map((link) => known.get(link)).find((each) => each !== undefined);
    const story = found ?? [];
    if (!found) stories.push(story);
    story.push(entry);
    for (const link of links) known.set(link, story);
  }
  return merged(
    stories.map((story) => ({ entries: story, head: headOf(story), isRepeated: false })),
  );
}

/**
 * What an entry shares with others of its story. A caller chooses the parent that it names, so the parent counts
 * only under the same token: else one agent could hide its calls in the story of another.
 */
function linksOf({ entry_type, ...entry }: AuditEntry): string[] {
  const { invocation_id, parent_invocation_id, approval_request_id, token_id, detail } = entry;
  const named = detail?.invocation_id;
  return [
    ...(invocation_id === null ? [] : [invocation_id, `${token_id} ${invocation_id}`]),
    ...(parent_invocation_id === null ? [] : [`${token_id} ${parent_invocation_id}`]),
    ...(approval_request_id === null ? [] : [approval_request_id]),
    ...(entry_type === 'operator' && typeof named === 'string' ? [named] : []),
  ];
}

/** Entries that say how a call ended. */
export const CALLS: ReadonlySet<AuditEntry['entry_type']> = new Set([
  'invocation',
  'settlement',
  'compensation',
  'dry_run',
]);

/** The newest call that is part of no other one here. */
function headOf(story: readonly AuditEntry[]): AuditEntry {
  const calls = story.filter(({ entry_type }) => CALLS.has(entry_type));
  const ids = new Set(calls.map(({ invocation_id }) => invocation_id));
  const whole = calls.find(({ parent_invocation_id: id }) => id === null || !ids.has(id));
  return whole ?? calls[0] ?? (story[0] as AuditEntry);
}

/** Calls that read, follow each other and differ in nothing that a row shows become one row. */
function merged(stories: readonly Story[]): Story[] {
  const rows: Story[] = [];
  for (const story of stories) {
    const last = rows.at(-1);
    if (last && isSame(last, story)) {
      rows[rows.length - 1] = {
        entries: [...last.entries, ...story.entries],
        head: last.head,
        isRepeated: true,
      };
    } else rows.push(story);
  }
  return rows;
}

function isSame(last: Story, { entries, head }: Story): boolean {
  const isPlain = (entry: AuditEntry) =>
    entry.entry_type === 'invocation' && entry.state === 'completed' && entry.cost_actual === null;
  return (
    (last.isRepeated || last.entries.length === 1) &&
    entries.length === 1 &&
    isPlain(last.head) &&
    isPlain(head) &&
    head.token_id !== null &&
    last.head.token_id === head.token_id &&
    last.head.capability === head.capability &&
    last.head.timestamp.slice(0, 10) === head.timestamp.slice(0, 10)
  );
}

/** Oldest first. The title of one entry says what was done; only a call that was not done has more to say. */
export function stepsOf({ entries, head, isRepeated }: Story): Step[] {
  const isDecision = head.entry_type === 'approval_decision';
  if (isRepeated || (entries.length === 1 && (isDecision || !isBad(head)))) return [];
  return everyStep(entries, head);
}

export function everyStep(entries: readonly AuditEntry[], head: AuditEntry): Step[] {
  const isAsked = entries.some(({ entry_type }) => entry_type === 'approval_request');
  return [...entries]
    .reverse()
    .filter(({ failure_type }) => !(isAsked && failure_type === 'approval_required'))
    .map((entry) => ({ ...stepOf(entry, head), at: entry.timestamp, isBad: isBad(entry) }));
}

function isBad({ state, detail, failure_type }: AuditEntry): boolean {
  const isRefused = state !== 'completed' && failure_type !== 'approval_required';
  return isRefused || detail?.decision === 'denied' || detail?.decision === 'expired';
}

type Drawn = Pick<Step, 'icon' | 'words'>;

function stepOf(entry: AuditEntry, head: AuditEntry): Drawn {
  const { entry_type, failure_type, actor_key } = entry;
  if (entry_type === 'approval_request' || failure_type === 'approval_required') {
    return { icon: 'agent', words: ['asked'] };
  }
  const isDecision = entry_type === 'approval_decision';
  const isCall = entry_type === 'invocation' || entry_type === 'settlement';
  if (isCall || (isBad(entry) && !isDecision)) return callStep(entry, head);
  if (!isDecision) {
    return { icon: entry_type === 'compensation' ? 'reversible' : 'clock', words: whatOf(entry) };
  }
  const by: Words = actor_key === null ? [] : [{ text: actor_key, kind: 'principal' }, ': '];
  return { icon: isBad(entry) ? 'cross' : 'check', words: [...by, ...whatOf(entry)] };
}

/** A call inside the call of the story is named. */
function callStep(entry: AuditEntry, head: AuditEntry): Drawn {
  const { state, failure_type, cost_actual } = entry;
  const which: Words = entry.capability === head.capability ? [] : [capabilityOf(entry), ': '];
  if (state === 'completed') {
    const words = [...which, cost_actual ? 'paid' : 'done'];
    return { icon: cost_actual ? 'money' : 'check', words };
  }
  const why = failure_type === null ? '' : `: ${failure_type.replaceAll('_', ' ')}`;
  return { icon: 'cross', words: [...which, `${STATES[state]}${why}`] };
}

const STATES = { failed: 'failed', refused: 'refused', indeterminate: 'outcome unknown' } as const;
