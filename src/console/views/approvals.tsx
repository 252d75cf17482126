/**
 * Approvals: the requests that wait for the person, the next to expire first. Each has a page of its own.
 *
 * @module
 */

import { me } from '../me.ts';
import { Empty } from '../parts/loaded.tsx';
import { route } from '../router.ts';
import { Inbox } from './approvals/inbox.tsx';
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
