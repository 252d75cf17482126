/**
 * Approvals: the requests that wait for the person, the next to expire first. Each has a page of its own.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { countOf } from '../../domain/decision/values.ts';
import type { InboxItem, Inbox as InboxPage } from '../../protocol/console/views.ts';
import { ask, me, pulse } from '../api.ts';
import { announce } from '../parts/announce.ts';
import { Ago, Chain, effectLook, Left, Pill } from '../parts/elements.tsx';
import { Empty, Failed, Loading, useLoaded } from '../parts/loaded.tsx';
import { Row } from '../parts/panels.tsx';
import { hrefOf, route } from '../router.ts';
import { DecisionView } from './decision.tsx';

export function ApprovalsView() {
  const { id } = route.value;
  if (id !== undefined) return <DecisionView key={id} id={id} />;
  return (
    <>
      <h1>Approvals</h1>
      {(me.value?.approves.length ?? 0) > 0 ? (
        <Inbox />
      ) : (
        <Empty>
          You may decide no requests. An operator who configures this service can give you a scope
          such as <code>approver:*</code>, or one with the name of a capability.
        </Empty>
      )}
    </>
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

function Rows({ page: { requests }, isFirst }: RowsProps) {
  const [shown, setShown] = useState<readonly InboxItem[]>(requests);
  const now = new Map(requests.map((item) => [item.approval_request_id, item]));
  const known = new Set(shown.map(({ approval_request_id }) => approval_request_id));
  const fresh = requests.filter(({ approval_request_id }) => !known.has(approval_request_id));
  const end = shown.at(-1)?.expires_at ?? '';
  const isAtEnd = fresh.every(({ expires_at }) => expires_at >= end);
  useEffect(() => {
    if (fresh.length === 0) return;
    announce(`${countOf(fresh.length, 'new request')} to decide`);
    if (isAtEnd) setShown([...shown, ...fresh]);
  }, [requests]);
  const left = shown.filter(({ approval_request_id: id }) => !now.has(id)).length;
  const isStale = (fresh.length > 0 && !isAtEnd) || left > 0;
  const changes = [
    ...(fresh.length > 0 ? [countOf(fresh.length, 'new request')] : []),
    ...(left > 0 ? [`${left} no longer pending`] : []),
  ];
  return (
    <>
      <p class="row small">
        {isStale ? (
          <button type="button" onClick={() => setShown(requests)}>
            Show the list of now: {changes.join(', ')}
          </button>
        ) : (
          <span class="muted">The next to expire comes first. You decide each one by itself.</span>
        )}
      </p>
      {shown.length === 0 ? (
        <Nothing isFirst={isFirst} />
      ) : (
        <section class="group">
          <div class="head">
            <h2>Waiting for you</h2>
          </div>
          <ul class="list">
            {shown.map((item) => {
              const { approval_request_id: id } = item;
              const current = now.get(id);
              return <Request key={id} item={current ?? item} isGone={!current} />;
            })}
          </ul>
        </section>
      )}
    </>
  );
}

function Nothing({ isFirst }: { readonly isFirst: boolean }) {
  if (!isFirst) return <Empty>No request is left on this page.</Empty>;
  return (
    <Empty>
      No request waits for you. One appears here when an agent asks for something that you may
      approve.
    </Empty>
  );
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
      side={isGone ? <Pill state="off">No longer pending</Pill> : <Left until={item.expires_at} />}
    >
      <p>
        <Chain of={item.chain} /> · {item.description} Asked <Ago at={item.created_at} />
      </p>
      <Marks item={item} />
    </Row>
  );
}

function Marks({ item }: { readonly item: InboxItem }) {
  const { approvals, approvals_required, has_approved, has_hidden } = item;
  if (!has_hidden && approvals_required === 1 && !has_approved) return null;
  return (
    <p class="marks">
      {has_hidden ? <Pill state="warn">Hidden characters</Pill> : null}{' '}
      {approvals_required > 1 ? (
        <Pill state={approvals > 0 ? 'act' : 'off'}>
          {approvals} of {approvals_required} approved
        </Pill>
      ) : null}{' '}
      {has_approved ? <Pill state="good">You approved, others decide</Pill> : null}
    </p>
  );
}
