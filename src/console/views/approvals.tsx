/**
 * Approvals: the requests that wait for the person, the next to expire first. A row opens the page of one.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { countOf } from '../../domain/decision/values.ts';
import type { InboxItem, Inbox as InboxPage } from '../../protocol/console/views.ts';
import { ask, me, now, pulse } from '../api.ts';
import { announce } from '../parts/announce.ts';
import { Ago, Chain, effectLook, Left, Pill } from '../parts/elements.tsx';
import { Icon } from '../parts/icon.tsx';
import { Empty, Failed, Loading, useLoaded } from '../parts/loaded.tsx';
import { Row } from '../parts/panels.tsx';
import { hrefOf, route } from '../router.ts';
import { DecisionView } from './decision.tsx';

export function ApprovalsView() {
  const { id } = route.value;
  if (id !== undefined) return <DecisionView key={id} id={id} />;
  const isApprover = (me.value?.approves.length ?? 0) > 0;
  return (
    <>
      <div class="head mid">
        <h1>Approvals</h1>
        {isApprover ? <p class="small muted">You decide each one by itself.</p> : null}
      </div>
      {isApprover ? (
        <>
          <Tabs />
          <Inbox />
        </>
      ) : (
        <Empty>
          You may decide no requests. An operator who configures this service can give you a scope
          such as <code>approver:*</code>, or one with the name of a capability.
        </Empty>
      )}
    </>
  );
}

/** Those that are decided are in the log. */
function Tabs() {
  const pending = pulse.value?.pending ?? 0;
  return (
    <nav class="tabs" aria-label="Requests">
      <a href={hrefOf('approvals')} aria-current="page">
        Waiting {pending > 0 ? <span class="count">{pending}</span> : null}
      </a>
      <a href={hrefOf('activity', undefined, { entry_type: 'approval_decision' })}>Decided</a>
    </nav>
  );
}

/**
 * The inbox: one page of pending requests. It stays true without moving under the reader's hand.
 *
 * A request that left the list keeps its place and says so. New ones at the end appear at once; others wait for a
 * button.
 */
function Inbox() {
  /** Cursors of the pages before this one; the last is of this page. */
  const cursors = useSignal<readonly string[]>([]);
  const cursor = cursors.value.at(-1);
  const inbox = useLoaded(
    async () => ({ cursor, page: await ask('inbox', cursor === undefined ? {} : { cursor }) }),
    [cursor, pulse.value?.entries],
  );
  // While the next page loads, the last one stays.
  const last = inbox.state === 'loading' ? undefined : inbox.value;
  const next = last?.page.next_cursor ?? null;
  return (
    <>
      {inbox.state === 'failed' ? (
        <Failed what="The list of requests" why={inbox.why} again={inbox.again} />
      ) : null}
      {last ? (
        <Rows key={last.cursor} page={last.page} isFirst={last.cursor === undefined} />
      ) : inbox.state === 'loading' ? (
        <Loading what="the requests that wait for you" />
      ) : null}
      <div class="row">
        {cursor === undefined ? null : (
          <button
            type="button"
            onClick={() => {
              cursors.value = cursors.value.slice(0, -1);
            }}
          >
            Expire sooner
          </button>
        )}
        {next === null ? null : (
          <button
            type="button"
            onClick={() => {
              cursors.value = [...cursors.value, next];
              scrollTo(0, 0);
            }}
          >
            Expire later
          </button>
        )}
      </div>
    </>
  );
}

interface RowsProps {
  readonly page: InboxPage;
  readonly isFirst: boolean;
}

/** The rows as they stand under the reader's hand, and when they were shown. */
interface ShownRows {
  readonly items: readonly InboxItem[];
  readonly atMs: number;
}

function Rows({ page: { requests }, isFirst }: RowsProps) {
  const [shown, setShown] = useState<ShownRows>({ items: requests, atMs: now.peek() });
  const current = new Map(requests.map((item) => [item.approval_request_id, item]));
  const known = new Set(shown.items.map(idOf));
  const fresh = requests.filter((item) => !known.has(idOf(item)));
  const groups = groupsOf(shown);
  const more = { ...shown, items: [...shown.items, ...fresh] };
  const isAtEnd = flatIds(groupsOf(more)).startsWith(flatIds(groups));
  useEffect(() => {
    if (fresh.length === 0) return;
    announce(`${countOf(fresh.length, 'new request')} to decide`);
    if (isAtEnd) setShown(more);
  }, [requests]);
  const left = shown.items.filter((item) => !current.has(idOf(item))).length;
  const isStale = (fresh.length > 0 && !isAtEnd) || left > 0;
  const changes = [
    ...(fresh.length > 0 ? [countOf(fresh.length, 'new request')] : []),
    ...(left > 0 ? [`${left} no longer pending`] : []),
  ];
  return (
    <>
      {isStale ? (
        <p class="row small">
          <button type="button" onClick={() => setShown({ items: requests, atMs: now.peek() })}>
            Show the list of now: {changes.join(', ')}
          </button>
        </p>
      ) : null}
      {shown.items.length === 0 ? <Nothing isFirst={isFirst} /> : null}
      {groups.map(({ title, look, items }) => (
        <section class="group" key={title} aria-label={title}>
          <div class="head">
            <h2 class={look}>{title}</h2> <small>{items.length}</small>
          </div>
          <ul class="list">
            {items.map((item) => {
              const id = idOf(item);
              return <Request key={id} item={current.get(id) ?? item} isGone={!current.has(id)} />;
            })}
          </ul>
        </section>
      ))}
    </>
  );
}

function idOf({ approval_request_id }: InboxItem): string {
  return approval_request_id;
}

interface Group {
  readonly title: string;
  readonly look?: string;
  readonly items: readonly InboxItem[];
}

/** In milliseconds. */
const SOON_MS = 3_600_000;

/** The next to expire comes first; of those that have time, the requests of one agent stand together. */
function groupsOf({ items, atMs }: ShownRows): Group[] {
  const open = items.filter(({ has_approved }) => !has_approved);
  const isSoon = ({ expires_at }: InboxItem) => Date.parse(expires_at) - atMs < SOON_MS;
  const waiting = open.filter((item) => !isSoon(item));
  const agents = waiting.map(({ chain }) => chain.join(' '));
  const firstOf = ({ chain }: InboxItem) => agents.indexOf(chain.join(' '));
  const groups: Group[] = [
    { title: 'Ends within the hour', look: 'warn', items: open.filter(isSoon) },
    {
      title: 'Waiting for you',
      items: waiting.toSorted((one, other) => firstOf(one) - firstOf(other)),
    },
    {
      title: 'You approved, others decide',
      items: items.filter(({ has_approved }) => has_approved),
    },
  ];
  return groups.filter((group) => group.items.length > 0);
}

function flatIds(groups: readonly Group[]): string {
  return groups.flatMap((group) => group.items.map(idOf)).join();
}

function Nothing({ isFirst }: { readonly isFirst: boolean }) {
  if (!isFirst) return <Empty>No request is left on this page.</Empty>;
  return <Empty>Nothing waits for you. A new request appears here at once.</Empty>;
}

interface RequestProps {
  readonly item: InboxItem;
  /** Decided or expired since the list was shown. */
  readonly isGone: boolean;
}

/** One request in the inbox: enough to choose what to read next, never enough to decide. */
function Request({ item, isGone }: RequestProps) {
  const { words, icon, isFinal } = effectLook({ type: item.side_effect });
  return (
    <Row
      href={hrefOf('approvals', item.approval_request_id)}
      icon={icon}
      says={words}
      isFinal={isFinal}
      title={<bdi>{item.title}</bdi>}
      side={
        isGone ? (
          <Pill state="off">No longer pending</Pill>
        ) : (
          <span>
            <Icon name="clock" /> <Left until={item.expires_at} />
          </span>
        )
      }
    >
      <p>
        <Chain of={item.chain} /> · asked <Ago at={item.created_at} />
      </p>
      <Marks item={item} />
    </Row>
  );
}

/** Only exceptions. */
function Marks({ item }: { readonly item: InboxItem }) {
  const { approvals, approvals_required, has_approved, has_hidden, needs_passkey } = item;
  if (!has_hidden && !needs_passkey && approvals_required === 1) return null;
  const isLast = !has_approved && approvals + 1 === approvals_required;
  return (
    <p class="marks">
      {has_hidden ? (
        <Pill state="warn">
          <Icon name="warning" /> Hidden characters
        </Pill>
      ) : null}{' '}
      {needs_passkey ? (
        <Pill state="act">
          <Icon name="passkey" /> Needs your passkey
        </Pill>
      ) : null}{' '}
      {approvals_required > 1 ? (
        <Pill state={approvals > 0 ? 'act' : 'off'}>
          {approvals} of {approvals_required} approved{isLast ? ', you complete it' : ''}
        </Pill>
      ) : null}
    </p>
  );
}
