/**
 * The inbox: one page of pending requests. It stays true without moving under the reader's hand.
 *
 * A request that left the list keeps its place and says so. New ones at the end appear at once; others wait for a
 * button.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { countOf } from '../../../domain/decision/values.ts';
import type { InboxItem, Inbox as InboxPage } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { pulse } from '../../live.ts';
import { announce } from '../../parts/announce.ts';
import { Empty, Failed, Loading, useLoaded } from '../../parts/loaded.tsx';
import { Row } from './row.tsx';

export function Inbox() {
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
  const shown = useSignal<readonly InboxItem[]>(requests);
  const current = new Map(requests.map((item) => [item.approval_request_id, item]));
  const known = new Set(shown.value.map(({ approval_request_id }) => approval_request_id));
  const fresh = requests.filter(({ approval_request_id }) => !known.has(approval_request_id));
  const end = shown.value.at(-1)?.expires_at ?? '';
  const isAtEnd = fresh.every(({ expires_at }) => expires_at >= end);
  useEffect(() => {
    if (fresh.length === 0) return;
    announce(`${countOf(fresh.length, 'new request')} to decide`);
    if (isAtEnd) shown.value = [...shown.value, ...fresh];
  }, [requests]);
  const left = shown.value.filter(({ approval_request_id: id }) => !current.has(id)).length;
  const isStale = (fresh.length > 0 && !isAtEnd) || left > 0;
  const changes = [
    ...(fresh.length > 0 ? [countOf(fresh.length, 'new request')] : []),
    ...(left > 0 ? [`${left} no longer pending`] : []),
  ];
  return (
    <>
      <p class="row small state">
        {isStale ? (
          <button
            type="button"
            onClick={() => {
              shown.value = requests;
            }}
          >
            Show the list of now: {changes.join(', ')}
          </button>
        ) : (
          <span class="muted">The next to expire comes first. You decide each one by itself.</span>
        )}
      </p>
      {shown.value.length === 0 ? <Nothing isFirst={isFirst} /> : null}
      <ul class="rows">
        {shown.value.map((item) => {
          const now = current.get(item.approval_request_id);
          return <Row key={item.approval_request_id} item={now ?? item} isGone={!now} />;
        })}
      </ul>
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
