/**
 * One request in the inbox: enough to choose what to read next, never enough to decide.
 *
 * @module
 */

import { countOf } from '../../../domain/decision/values.ts';
import type { InboxItem } from '../../../protocol/console/views.ts';
import { Chain } from '../../parts/chain.tsx';
import { Effect } from '../../parts/effect.tsx';
import { Pill } from '../../parts/pill.tsx';
import { Ago, Left } from '../../parts/time.tsx';
import { hrefOf } from '../../router.ts';

interface RowProps {
  readonly item: InboxItem;
  /** Decided or expired since the list was shown. */
  readonly isGone: boolean;
}

export function Row({ item, isGone }: RowProps) {
  return (
    <li>
      <div class="head">
        <h2>
          <a href={hrefOf('approvals', item.approval_request_id)}>
            <bdi>{item.title}</bdi>
          </a>
        </h2>
        <span>
          {isGone ? <Pill state="off">No longer pending</Pill> : <Left until={item.expires_at} />}
        </span>
      </div>
      <p>
        <Chain of={item.chain} />
      </p>
      <p>
        <Effect of={{ type: item.side_effect }} /> <small>{item.description}</small>
      </p>
      <p class="small muted">
        {countOf(item.parameters_count, 'parameter')}, asked <Ago at={item.created_at} />
      </p>
      <Marks item={item} />
    </li>
  );
}

function Marks({ item }: { readonly item: InboxItem }) {
  const { approvals, approvals_required, has_approved, has_hidden } = item;
  if (!has_hidden && approvals_required === 1 && !has_approved) return null;
  return (
    <p>
      {has_hidden ? <Pill state="warn">Hidden characters</Pill> : null}{' '}
      {approvals_required > 1 ? (
        <Pill state={approvals > 0 ? 'act' : 'off'}>
          {approvals} of {approvals_required} approved
        </Pill>
      ) : null}{' '}
      {has_approved ? <Pill state="good">You approved, others are waited for</Pill> : null}
    </p>
  );
}
